"""What recordings tell a plan: rates that a machine reaches, and the job that was recorded."""
