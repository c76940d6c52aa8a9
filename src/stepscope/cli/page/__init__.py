"""The commands that open a page in a browser, and what they share."""
