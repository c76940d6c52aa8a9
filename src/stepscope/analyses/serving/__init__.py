"""Passes of a server over its batches: what they do, what they take, and what a token's time is made of."""
