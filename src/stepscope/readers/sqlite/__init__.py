"""SQLite databases, which may be damaged: their tables as Arrow tables."""
