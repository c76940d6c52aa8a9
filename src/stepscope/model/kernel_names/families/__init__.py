"""Rules for kernel names, one file per family of libraries."""
