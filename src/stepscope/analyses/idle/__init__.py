"""Why devices were idle, and how full their queues were."""
