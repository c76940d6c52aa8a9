"""Compile a job into the host instructions of one step, as its Python code, PyTorch and autograd would issue them."""

from __future__ import annotations
