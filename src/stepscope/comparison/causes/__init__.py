"""What a difference comes from, as far as that is certain: which part of the step, and what in it."""
