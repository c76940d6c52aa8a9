"""Rules about the machine around the job."""
