"""Causes planted in real programs, recorded with PyTorch's own profiler on the CPU."""
