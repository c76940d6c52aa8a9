"""Classify kernels by name: class, collective, operand type and use of tensor cores.

The only place outside the readers that knows vendors' kernel names. `classify` is pure and cached; call it
once per unique name.
"""

from stepscope.model.kernel_names.classify import classify
from stepscope.model.kernel_names.kinds import OP_CLASSES, KernelClass, OpClass

__all__ = ["OP_CLASSES", "KernelClass", "OpClass", "classify"]
