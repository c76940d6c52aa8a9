"""Read tables of SQLite databases, also of damaged ones, as Arrow tables."""
