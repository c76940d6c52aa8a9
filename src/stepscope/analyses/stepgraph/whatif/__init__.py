"""Changes as users write them, and what they predict."""
