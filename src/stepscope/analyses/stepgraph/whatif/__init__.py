"""Changes as users write them, and their predictions."""
