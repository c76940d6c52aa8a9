"""Where the time of steps went: budget, phases, coverage."""
