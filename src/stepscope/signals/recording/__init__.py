"""What a recording can answer, and what it lacks."""
