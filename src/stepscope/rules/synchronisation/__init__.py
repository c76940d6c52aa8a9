"""Rules about the host waiting for the device."""
