"""Ranks analysed one by one, here or by workers, and their results put together."""
