"""Build the step graph from a recording."""
