"""What has a job record some of its steps: when, and how it is said; standard library alone, since jobs load it."""
