"""PyTorch memory snapshots of every generation, and timelines of `export_memory_timeline`."""
