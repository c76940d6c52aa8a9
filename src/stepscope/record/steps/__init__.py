"""Find the iterations of a program's outer loop from what it calls."""
