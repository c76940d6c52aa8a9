"""The host: launching, waiting, Python, the optimizer."""
