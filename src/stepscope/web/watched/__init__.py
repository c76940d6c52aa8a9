"""The page of a job that is being watched: its steps as they come."""
