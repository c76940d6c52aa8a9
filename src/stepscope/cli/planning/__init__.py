"""Commands about jobs that are yet to run."""
