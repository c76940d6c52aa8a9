"""The offset between the clocks of host and device: its bounds, its estimate, and its correction."""
