"""Kernels: their types, shapes, fusion and efficiency."""
