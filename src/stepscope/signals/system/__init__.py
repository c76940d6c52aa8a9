"""The machine below the job."""
