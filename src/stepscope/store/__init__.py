"""The columnar store: a folder of Parquet files per recording, opened through DuckDB."""
