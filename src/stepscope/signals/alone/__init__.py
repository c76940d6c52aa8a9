"""Signals of programs that no device is seen of."""
