"""Rules about what the recording can't answer, and what to record next time."""
