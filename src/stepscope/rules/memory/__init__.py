"""Rules about device memory and its allocator."""
