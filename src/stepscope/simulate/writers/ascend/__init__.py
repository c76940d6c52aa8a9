"""Writes a rank as the Ascend PyTorch Profiler exports it: a folder of JSON and CSV files, or of databases."""

from __future__ import annotations
