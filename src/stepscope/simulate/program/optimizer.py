"""The optimizer's step: fused, over lists of tensors, or one tensor after the other."""

from __future__ import annotations

from stepscope.simulate.program.builder import Builder
from stepscope.simulate.specs import TensorSpec

# Operators of one step, with the tensors each element-wise pass touches.
_FOREACH = {
    "adamw": (
        ("_foreach_add_", "BinaryOpScalarFunctor<T, 1, 1, 0>", 2),
        ("_foreach_mul_", "BinaryOpScalarFunctor<T, 1, 1, 0>", 2),
        ("_foreach_lerp_", "TernaryOpScalarFunctor<T, 2, 2, 0>", 3),
        ("_foreach_mul_", "BinaryOpScalarFunctor<T, 1, 1, 0>", 2),
        ("_foreach_addcmul_", "PointwiseOpScalarFunctor<T, 3, 3, 0>", 4),
        ("_foreach_sqrt", "UnaryOpFunctor<T, 2, 1, 1>", 2),
        ("_foreach_div_", "BinaryOpScalarListFunctor<T, 1, 1, 0>", 2),
        ("_foreach_add_", "BinaryOpScalarFunctor<T, 1, 1, 0>", 2),
        ("_foreach_addcdiv_", "PointwiseOpScalarListFunctor<T, 3, 3, 0>", 4),
    ),
    "sgd": (("_foreach_add_", "BinaryOpListAlphaFunctor<T, 2, 2, 0>", 3),),
}
_LOOP = {
    "adamw": ("add_", "mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"),
    "sgd": ("add_",),
}
_CLASSES = {"adamw": "AdamW", "sgd": "SGD"}


def optimizer_step(b: Builder) -> None:
    """Emit ``optimizer.step()`` over the builder's parameters."""
    name = _CLASSES[b.job.optimizer]
    with (
        b.frame("torch/optim/optimizer.py(484): wrapper", f"torch/optim/{b.job.optimizer}.py(220): step"),
        b.annotation(f"Optimizer.step#{name}.step"),
    ):
        b.python(4)
        {"fused": _fused, "foreach": _foreach, "loop": _loop}[b.job.optimizer_impl](b)


def zero_grad(b: Builder) -> None:
    """Emit ``optimizer.zero_grad``, with ``set_to_none=False`` if gradients are zeroed."""
    name = _CLASSES[b.job.optimizer]
    with (
        b.frame("torch/optim/optimizer.py(950): zero_grad"),
        b.annotation(f"Optimizer.zero_grad#{name}.zero_grad"),
    ):
        b.python(2)
        if not b.job.zero_gradients:
            return
        with b.op("aten::_foreach_zero_", ""):
            for kernel in b.kernels.foreach("_foreach_zero_", "ZeroFunctor<T, 1, 1, 0>", _sizes(b), 1):
                b.launch(kernel)


def _sizes(b: Builder) -> tuple[int, ...]:
    return tuple(max(1, param.elements // _shards(b)) for param in b.params)


def _shards(b: Builder) -> int:
    return b.job.ranks if b.job.parallel == "fsdp" else 1


def _fused(b: Builder) -> None:
    with b.op(f"aten::_fused_{b.job.optimizer}_", "", "", "", "", ""):
        functor = "FusedAdamMathFunctor<T, 4, (at::native::ADAM_MODE)1, false>"
        for kernel in b.kernels.foreach("_fused", functor, _sizes(b), 7):
            b.launch(kernel)


def _foreach(b: Builder) -> None:
    for op, functor, operands in _FOREACH[b.job.optimizer]:
        b.python(0.5)
        with b.op(f"aten::{op}", "", ""):
            for kernel in b.kernels.foreach(op, functor, _sizes(b), operands):
                b.launch(kernel)


def _loop(b: Builder) -> None:
    for param in b.params:
        state = param if _shards(b) == 1 else TensorSpec((max(1, param.elements // _shards(b)),), param.dtype)
        for op in _LOOP[b.job.optimizer]:
            b.python(0.3)
            with b.op(f"aten::{op}", state, state):
                b.launch(b.kernels.elementwise(f"{op.strip('_').capitalize()}Functor<T>", state, 3))
