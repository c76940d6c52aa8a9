"""Recordings of Nsight Systems: SQLite, Parquet and Arrow exports."""
