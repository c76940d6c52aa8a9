"""Why devices were idle, and how many launches their queues held."""
