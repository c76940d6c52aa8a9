"""Pictures of a plan in text: memory as a bar, the pipeline as rows of stages over time."""

from __future__ import annotations

from typing import Final

from stepscope.language import pattern, said
from stepscope.planning.layout import Schedule
from stepscope.planning.result import JudgedPlan

#: Cells of a picture.
_WIDTH: Final = 64
#: Letters of parts of memory, as they are stacked.
_LETTERS: Final = {
    "weights": "W", "gradients": "G", "optimizer": "O", "activations": "A", "logits": "L", "gathered": "g",
    "working": "w", "fragmentation": "f", "context": "c", "communication": "n",
}  # fmt: skip
#: Stages and micro-batches that are drawn.
_MOST_STAGES, _MOST_BATCHES = 8, 12
#: What is drawn, and how far the schedule differs from it.
_KINDS: Final = {
    Schedule.ONE_F_ONE_B: "1F1B",
    Schedule.GPIPE: "GPipe",
    Schedule.INTERLEAVED: pattern("drawn as 1F1B: interleaved in {chunks} chunks, it idles 1/{chunks} as long"),
    Schedule.ZERO_BUBBLE: pattern("drawn as 1F1B: zero-bubble idles less, since gradients of weights fill gaps"),
    Schedule.DUAL_PIPE: pattern("drawn as 1F1B: DualPipe idles less, since micro-batches come in from both ends"),
}


def memory_picture(plan: JudgedPlan) -> str:
    """The device's memory as a bar of letters, one per part; dots are free."""
    memory = plan.memory
    whole = max(memory.usable_bytes, memory.device_bytes)
    bar, reached, drawn = "", 0, 0
    for name, size in (*memory.parts.items(), *memory.outside.items()):
        reached += size
        cells = round(_WIDTH * reached / whole) - drawn
        bar += _LETTERS.get(name, "?") * cells
        drawn += cells
    end = round(_WIDTH * memory.usable_bytes / whole)
    if drawn > end:
        return said("[{bar}|{bar2} over what can be used", bar=bar[:end], bar2=bar[end:])
    return f"[{bar}{'.' * (end - drawn)}]"


def pipeline_picture(plan: JudgedPlan) -> list[str]:
    """1F1B or GPipe of the first micro-batches: a row per stage, F forward, B backward (two cells), dots idle."""
    layout = plan.layout
    stages, batches = min(layout.pp, _MOST_STAGES), min(layout.micro_batches, _MOST_BATCHES)
    rows = _drawn(stages, batches, first=layout.schedule is Schedule.GPIPE)
    lines = [said("stage {at:>2} {row}", at=at, row="".join(row)) for at, row in enumerate(rows)]
    shown = said(
        "{stages} of {pp} stages, {batches} of {micro_batches} micro-batches",
        stages=stages,
        pp=layout.pp,
        batches=batches,
        micro_batches=layout.micro_batches,
    )
    kind = said(_KINDS[layout.schedule], chunks=layout.virtual_stages)
    return [said("F forward, BB backward, . idle; {shown}, {kind}", shown=shown, kind=kind), *lines]


def _drawn(stages: int, batches: int, *, first: bool) -> list[list[str]]:
    """Cells of each stage: forward takes one, backward two; `first` all forward passes or one after the other."""
    forward_end: dict[tuple[int, int], int] = {}
    backward_end: dict[tuple[int, int], int] = {}
    orders = [_order(batches if first else stages - stage - 1, batches) for stage in range(stages)]
    at = [0] * stages
    free = [0] * stages
    rows: list[list[str]] = [[] for _ in range(stages)]
    moved = True
    while moved:
        moved = False
        for stage in range(stages):
            while at[stage] < len(orders[stage]):
                kind, batch = orders[stage][at[stage]]
                if kind == "F":
                    ready = 0 if stage == 0 else forward_end.get((stage - 1, batch), -1)
                else:
                    last = stage == stages - 1
                    ready = forward_end.get((stage, batch), -1) if last else backward_end.get((stage + 1, batch), -1)
                if ready < 0:
                    break
                start = max(ready, free[stage])
                rows[stage] += ["."] * (start - len(rows[stage])) + ([kind] if kind == "F" else ["B", "B"])
                free[stage] = len(rows[stage])
                (forward_end if kind == "F" else backward_end)[stage, batch] = free[stage]
                at[stage] += 1
                moved = True
    longest = max(map(len, rows))
    return [row + ["."] * (longest - len(row)) for row in rows]


def _order(ahead: int, batches: int) -> list[tuple[str, int]]:
    """Passes of a stage that is so many forward passes ahead before the first backward one."""
    warm = min(batches, ahead)
    order = [("F", n) for n in range(warm)]
    for n in range(batches - warm):
        order += [("F", warm + n), ("B", n)]
    return order + [("B", n) for n in range(batches - warm, batches)]
