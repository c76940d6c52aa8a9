"""The critical path of a step across the ranks of a job."""
