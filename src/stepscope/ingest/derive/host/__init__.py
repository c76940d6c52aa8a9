"""Nesting of host threads."""
