"""What goes on in a watched process without the profiler: its clock, its reasons to record, and who may ask."""
