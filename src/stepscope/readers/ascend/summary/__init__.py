"""The sums of one rank, read without its events."""
