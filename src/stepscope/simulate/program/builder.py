"""Collect the instructions of a step while walking through a model, and keep the autograd tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from stepscope.simulate import causes
from stepscope.simulate.job import SimJob
from stepscope.simulate.kernels import KernelFactory
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.records import COMPUTE
from stepscope.simulate.specs import KernelSpec, OpSpec, TensorSpec

Input = TensorSpec | str | None


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of the autograd tape: how to run the backward of an operator."""

    name: str
    sequence: int
    inputs: tuple[Input, ...]
    body: Callable[[], None]
    params: tuple[TensorSpec, ...]
    saved: tuple[int, ...]


def _no_unit(_: int) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(slots=True)
class Builder:
    """Instructions of one step, in the order the host runs them.

    Attributes:
        out: the instructions so far.
        tape: what the backward has to run, in forward order.
        params: parameters of the model, in the order they are used.
        on_grad: called in the backward when a parameter's gradient is final.
        unit: put around a block of so many parameters that are sharded together.
        feed_forward: emits what takes the place of a block's MLP; None for the MLP.
        slots: tensors allocated so far.
        sequence: autograd numbers given so far.
    """

    job: SimJob
    kernels: KernelFactory
    out: list[ins.Instruction] = field(default_factory=list)
    tape: list[Node] = field(default_factory=list)
    params: list[TensorSpec] = field(default_factory=list)
    on_grad: Callable[[TensorSpec], None] | None = None
    unit: Callable[[int], AbstractContextManager[None]] = _no_unit
    feed_forward: Callable[[TensorSpec], None] | None = None
    slots: int = 0
    sequence: int = 0

    @contextmanager
    def op(self, name: str, *inputs: Input, sequence: int = -1, backward: bool = False) -> Iterator[None]:
        """An operator around what is emitted inside."""
        self.out.append(ins.Enter(OpSpec(name, "op", inputs, backward), sequence))
        yield
        self.out.append(LEAVE)

    @contextmanager
    def annotation(self, name: str, extra: Mapping[str, object] | None = None) -> Iterator[None]:
        """A ``record_function`` range around what is emitted inside."""
        self.out.append(ins.Enter(OpSpec(name, "annotation", extra=extra or {})))
        yield
        self.out.append(LEAVE)

    @contextmanager
    def frame(self, *names: str) -> Iterator[None]:
        """Python functions, outermost first, around what is emitted inside."""
        self.out.extend(ins.FrameIn(name) for name in names)
        yield
        self.out.extend(FRAME_OUT for _ in names)

    def python(self, factor: float = 1.0) -> None:
        """Interpreter time before the model's code calls the next operator."""
        self.out.append(ins.Spend(int(self.job.python_ns * factor), causes.PYTHON))

    def view(self, name: str, tensor: TensorSpec) -> None:
        """An operator that only makes a view."""
        with self.op(name, tensor), self.op("aten::as_strided", tensor, "", "", ""):
            pass

    def empty(self, tensor: TensorSpec, name: str = "aten::empty") -> int:
        """Allocate a tensor; returns its slot."""
        self.slots += 1
        sizes = str(list(tensor.shape))
        with self.op(name, sizes, "", "", "", "", ""):
            self.out.append(ins.Alloc(self.slots, tensor.bytes))
        return self.slots

    def free(self, *slots: int) -> None:
        """Release tensors."""
        self.out.extend(ins.Free(slot) for slot in slots)

    def launch(self, kernel: KernelSpec, call: str = "cudaLaunchKernel") -> None:
        """Launch a kernel on the compute stream."""
        self.out.append(ins.Launch(kernel, COMPUTE, call))
        if self.job.sync_every_op:
            self.out.append(ins.Sync(-1))

    def call(self, name: str) -> None:
        """A small runtime call, when the job records them."""
        if self.job.record_calls:
            self.out.append(ins.RuntimeCall(name))

    def due(self, count: int, layer: int) -> int:
        """How many of ``count`` things per step fall to a layer, evenly spread over the model."""
        layers = self.job.layers
        return count * (layer + 1) // layers - count * layer // layers

    def item(self, dtype: str = "fp32") -> None:
        """Read one number from the device: copy it and wait for it."""
        one = TensorSpec((), dtype)
        self.python()
        with self.op("aten::item", one), self.op("aten::_local_scalar_dense", one):
            self.out.append(ins.Copy(self.kernels.memcpy(4, "DtoH", True), COMPUTE, False))
            self.out.append(ins.Sync(COMPUTE))

    @contextmanager
    def differentiable(self, name: str, *inputs: Input) -> Iterator[int]:
        """A module-level operator; yields the autograd sequence number of its node (-1 in inference)."""
        self.python()
        number = -1
        if self.job.training:
            number = self.sequence
            self.sequence += 1
        with self.op(name, *inputs, sequence=number):
            yield number

    def record(
        self,
        node: tuple[str, int],
        inputs: tuple[Input, ...],
        body: Callable[[], None],
        *,
        params: tuple[TensorSpec, ...] = (),
        saved: tuple[int, ...] = (),
    ) -> None:
        """Put an operator's backward on the tape; ``saved`` are the slots it keeps until then."""
        if node[1] < 0:
            self.free(*saved)
            return
        self.tape.append(Node(node[0], node[1], inputs, body, params, saved))

    def hook(self, body: Callable[[], None]) -> None:
        """Run something in the backward before what is on the tape so far."""
        if self.job.training:
            self.tape.append(Node("", -1, (), body, (), ()))

    def run_backward(self, tape: list[Node]) -> None:
        """Emit the backward of a tape, last operator first."""
        while tape:
            node = tape.pop()
            if not node.name:
                node.body()
                continue
            outer = f"autograd::engine::evaluate_function: {node.name}"
            with self.op(outer, sequence=node.sequence, backward=True):
                with self.op(node.name, *node.inputs, sequence=node.sequence, backward=True):
                    node.body()
                self.free(*node.saved)
            for param in node.params:
                self._accumulate(param)

    def _accumulate(self, param: TensorSpec) -> None:
        name = "torch::autograd::AccumulateGrad"
        with self.op(f"autograd::engine::evaluate_function: {name}"):
            with self.op(name, param), self.op("aten::detach", param), self.op("detach", param):
                pass
            if self.on_grad is not None:
                self.on_grad(param)


LEAVE = ins.Leave()
FRAME_OUT = ins.FrameOut()
