"""The page in a browser: a server over an open trace, and the built page that it serves."""
