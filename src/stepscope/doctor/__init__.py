"""What a machine and an environment would do to a job, found without running it."""
