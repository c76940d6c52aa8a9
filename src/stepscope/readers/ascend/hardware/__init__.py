"""What the chip is, and how much its kernels compute and move."""
