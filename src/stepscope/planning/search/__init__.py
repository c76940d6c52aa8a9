"""The search for layouts, what neighbouring choices cost, and what would make an impossible request possible."""
