"""Kernels: types, shapes, fusion and efficiency."""
