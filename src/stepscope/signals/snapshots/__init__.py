"""Memory snapshots of the allocator."""
