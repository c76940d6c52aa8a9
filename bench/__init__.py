"""Benchmarks: `python -m bench` writes one table of ratios, all measured in one run."""
