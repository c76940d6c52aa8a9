"""Apply changes of a job to its step graph."""
