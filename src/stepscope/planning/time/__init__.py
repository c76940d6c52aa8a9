"""Time of a step, part by part."""
