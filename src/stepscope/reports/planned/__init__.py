"""Plans as a page."""
