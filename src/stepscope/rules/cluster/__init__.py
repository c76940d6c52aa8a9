"""Rules about differences between the ranks of a job."""
