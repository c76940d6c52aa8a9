"""Operators with their kernels, one after another, for tests of what is made of sequences of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from support import Facts


class Program:
    """A program that calls operators one after another; each takes 10 µs on the host and launches one kernel.

    Attributes:
        facts: The trace that it leaves.
        now: When the next operator is called, in ns.
    """

    def __init__(self) -> None:
        self.facts = Facts()
        self.now = 0
        self._free = 0

    def call(
        self,
        name: str,
        *shapes: Sequence[int],
        kernel: str = "kernel",
        dur: int = 20_000,
        dtype: str = "c10::BFloat16",
        thread: str = "1",
        stream: str = "7",
        **facts: Any,
    ) -> tuple[int, int]:
        """Call an operator; returns the ids of its event and of its kernel."""
        op = self.facts.host("op", name, self.now, 10_000, thread=thread)
        if shapes:
            listed = [list(shape) for shape in shapes]
            self.facts.row("op_inputs", event=op, shapes=json.dumps(listed), dtypes=json.dumps([dtype] * len(listed)))
        start = max(self._free, self.now + 9_000)
        event = self.facts.kernel(
            kernel, start, dur, launch=(self.now + 2_000, 4_000), thread=thread, stream=stream, **facts
        )
        self.now += 10_000
        self._free = start + dur
        return op, event

    def wait(self) -> None:
        """Wait for the device."""
        self.facts.host("sync", "cudaDeviceSynchronize", self.now, self._free - self.now)
        self.now = self._free

    def attention(self, batch: int, tokens: int, width: int, **options: Any) -> None:
        """Attention written out."""
        scores = (batch, tokens, tokens)
        self.call("aten::bmm", (batch, tokens, width), (batch, width, tokens), kernel=GEMM, **options)
        self.call("aten::mul", scores, **options)
        self.call("aten::_softmax", scores, **options)
        self.call("aten::bmm", scores, (batch, tokens, width), kernel=GEMM, **options)

    def attention_backward(self, batch: int, tokens: int, width: int) -> None:
        """Its backward."""
        scores, narrow = (batch, tokens, tokens), (batch, tokens, width)
        self.call("aten::bmm", scores, narrow, kernel=GEMM)
        self.call("aten::bmm", narrow, (batch, width, tokens), kernel=GEMM)
        self.call("aten::_softmax_backward_data", scores, scores)
        self.call("aten::mul", scores)
        self.call("aten::bmm", scores, narrow, kernel=GEMM)
        self.call("aten::bmm", scores, narrow, kernel=GEMM)


GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"
