"""Memory of a device, part by part."""
