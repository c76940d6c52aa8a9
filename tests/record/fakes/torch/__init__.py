"""As much of torch as recording touches, with the signatures of torch 2.13 and no argument more."""

from . import _C, autograd, compiler, cuda, distributed, nn, optim, profiler, utils

__all__ = ["_C", "autograd", "compiler", "cuda", "distributed", "nn", "optim", "profiler", "utils"]
__version__ = "2.13.0"
