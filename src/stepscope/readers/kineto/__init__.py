"""Traces of torch.profiler (Kineto), and other traces in the Chrome format."""
