"""Where the time of steps went."""
