"""What several analyses share: trees of host events, device time, grouping, narrowing."""
