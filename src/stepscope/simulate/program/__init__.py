"""From a job to the instructions of one step: what its Python code, PyTorch and autograd make the host do."""

from __future__ import annotations
