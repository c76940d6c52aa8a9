"""What watching costs, and what it catches: `python -m bench.watching`, with a Python that has torch."""
