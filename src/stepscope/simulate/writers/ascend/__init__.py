"""Writes a rank as the Ascend PyTorch Profiler exports it: a folder of JSON and CSV files (torch_npu 2.1, CANN 8.0)."""

from __future__ import annotations
