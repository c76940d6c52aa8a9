"""Rules about what runs on the device."""
