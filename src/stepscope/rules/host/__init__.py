"""Rules about the threads that dispatch work."""
