"""Models: their shapes, how these are read and derived, and what they count up to."""
