"""Signals and helpers shared by several topics: job, program, idle time, operations and their roles."""
