"""Unpack recordings: compressed streams, zip archives, and text that is not UTF-8."""
