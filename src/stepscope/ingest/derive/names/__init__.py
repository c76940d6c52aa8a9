"""Facts derived from names: classes of kernels, and collectives."""
