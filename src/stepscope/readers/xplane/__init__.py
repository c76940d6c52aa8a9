"""Recordings of the XLA profiler in its own format, `*.xplane.pb`."""
