"""Calls of both sides that belong together, in spite of other names."""
