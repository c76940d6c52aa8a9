"""A step of a pipeline's stage: micro-batches go through it one forward, one backward (1F1B).

A stage first runs as many forwards as there are stages after it, then a forward and a backward in turn, then the
backwards that are left (Narayanan et al., "Efficient Large-Scale Language Model Training", 2021, section 2.2.1).
Exchanges with a neighbour come in the same order on both sides: what goes forward, then what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.simulate.pipeline import PipelineStage
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program import models
from stepscope.simulate.program.builder import Builder, Node
from stepscope.simulate.program.communication import RECEIVE, SEND, Communicator
from stepscope.simulate.program.reducer import Reducer
from stepscope.simulate.program.schedule import StagePass, interleaved
from stepscope.simulate.records import AUTOGRAD, MAIN
from stepscope.simulate.specs import TensorSpec


@dataclass(slots=True)
class Pipelined:
    """Emits one stage's step; ``tapes`` are those of parts and micro-batches whose backward is still to come."""

    b: Builder
    stage: PipelineStage
    group: Communicator
    reducer: Reducer | None
    tokens: TensorSpec
    target: TensorSpec
    tapes: dict[tuple[int, int], list[Node]] = field(default_factory=dict)

    def run(self) -> None:
        """Emit all forwards and backwards of the step."""
        if self.b.job.virtual_stages > 1:
            self._interleaved()
            return
        count = self.b.job.micro_batches
        ahead = min(len(self.stage.pipe.ranks) - 1 - self.stage.index, count)
        for number in range(ahead):
            self._exchange(before=(RECEIVE,))
            self._forward(self.stage, number)
            self._exchange(after=(SEND,))
        if ahead < count:
            self._exchange(before=(RECEIVE,))
        for number in range(count - ahead):
            self._forward(self.stage, ahead + number)
            self._exchange(after=(SEND, RECEIVE))
            self._backward(self.stage, number)
            self._exchange(before=(RECEIVE, SEND) if number < count - ahead - 1 else (SEND,))
        for number in range(count - ahead, count):
            self._exchange(after=(RECEIVE,))
            self._backward(self.stage, number)
            self._exchange(before=(SEND,))

    def _interleaved(self) -> None:
        """Emit the same where each rank holds several parts of the model."""
        job, ranks, index = self.b.job, self.stage.pipe.ranks, self.stage.index
        parts, come = self.stage.interleaved(job), dict[StagePass, int]()
        for turn in interleaved(job.stages, job.virtual_stages, job.micro_batches)[index]:
            work = turn.work
            if turn.peer is not None:
                name, peer = SEND if turn.sends else RECEIVE, ranks[turn.peer]
                pair = min(ranks[index], peer), max(ranks[index], peer)
                event = self.group.start(name, self.tokens.elements * job.hidden, pair, peer=peer)
                if not turn.sends:
                    come[work] = event
                continue
            if work in come:
                self.group.wait(come.pop(work))
            run = self._forward if work.kind == "forward" else self._backward
            run(parts[work.part], work.number)

    def _forward(self, part: PipelineStage, number: int) -> None:
        b, known = self.b, len(self.b.params)
        models.stage_forward(b, part, self.tokens, self.target)
        self.tapes[part.part, number] = b.tape
        b.tape = []
        if number:
            # Every micro-batch uses the same parameters.
            del b.params[known:]

    def _backward(self, part: PipelineStage, number: int) -> None:
        """Gradients are summed up over the micro-batches, and reduced between replicas in the last one's backward."""
        b = self.b
        last = number == b.job.micro_batches - 1
        b.python(2)
        with b.frame("torch/_tensor.py(570): backward", "torch/autograd/__init__.py(242): backward"):
            b.out.append(ins.SwitchThread(AUTOGRAD))
            b.on_grad = self.reducer.ready if self.reducer is not None and last else None
            b.run_backward(self.tapes.pop((part.part, number)))
            if self.reducer is not None and last and not self.tapes:
                self.reducer.finish()
            b.out.append(ins.SwitchThread(MAIN))

    def _exchange(self, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> None:
        """Exchange a micro-batch's activations or gradients with the stage before or after, if there is one."""
        ranks, index = self.stage.pipe.ranks, self.stage.index
        elements = self.tokens.elements * self.b.job.hidden
        for calls, other in ((before, index - 1), (after, index + 1)):
            if not 0 <= other < len(ranks):
                continue
            pair = ranks[min(index, other)], ranks[max(index, other)]
            events = [(name, self.group.start(name, elements, pair, peer=ranks[other])) for name in calls]
            for name, event in events:
                if name == RECEIVE:
                    self.group.wait(event)
