"""Where facts come from, by topic."""
