"""As much of torch_npu as recording touches, with the signatures of `Ascend/pytorch` and no argument more."""

from . import _C, npu, profiler

__all__ = ["_C", "npu", "profiler"]
