"""Samples of the machine that `stepscope record` writes beside its recordings."""
