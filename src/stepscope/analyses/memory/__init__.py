"""Device memory of a running job."""
