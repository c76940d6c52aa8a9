"""Checks, by what they look at."""
