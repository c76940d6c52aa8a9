"""What might be changed about a job, and what that does to the graph."""
