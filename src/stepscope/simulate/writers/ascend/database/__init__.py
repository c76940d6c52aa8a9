"""The database export: one SQLite file with everything, and `analysis.db` with sums."""
