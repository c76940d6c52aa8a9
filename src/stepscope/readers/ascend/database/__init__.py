"""The database export."""
