"""Commands that record, and what belongs to recording."""
