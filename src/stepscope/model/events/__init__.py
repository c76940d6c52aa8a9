"""Events of one rank as columns in memory, and how they nest."""
