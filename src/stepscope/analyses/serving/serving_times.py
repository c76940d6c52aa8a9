"""What the time of an output token, and that of a thousand prompt tokens, is made of."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.serving.passes import ServedPass, served_passes
from stepscope.analyses.serving.roles import ROLES
from stepscope.analyses.serving.serving_roles import IDLE, role_tiles, windows
from stepscope.model.schema import Column, TableSchema, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

OUTPUT: Final = "output token"
VERIFIED: Final = "verification of drafts"
PROMPT: Final = "1,000 prompt tokens"
PREFILL_BETWEEN: Final = "prefill in between"
OUTSIDE_BUSY: Final = "between passes, busy"
OUTSIDE_IDLE: Final = "between passes, idle"
IN_PASS_IDLE: Final = "in passes, idle"
#: Tokens that the price of prompts is given for.
_PROMPTS: Final = 1_000

SERVING_TIMES: Final = TableSchema(
    "serving_times",
    "What the time of tokens is made of. Of output tokens: the stretch on the device from the first pass with answers "
    "to the end of the last one, over the number of these passes, since each makes one token for each of its requests "
    "(with drafts a pass verifies several, and how many are accepted no range tells). Of prompts: the passes that read "
    "prompts and nothing else, over their tokens. The parts of each add up to it, exactly.",
    (
        RANK,
        text("of", f"{OUTPUT}, {VERIFIED} or {PROMPT}."),
        text("part", f"A role as in `serving_roles`; {IN_PASS_IDLE}; {PREFILL_BETWEEN} (passes that only read prompts, "
             f"while others wait for their token); {OUTSIDE_BUSY}, {OUTSIDE_IDLE} (device work that no pass launched, "
             "and none)."),
        ns("total_ns", "Time in the recording."),
        Column("token_ns", "int64", "total_ns for each of what the row is of, rounded down.", "ns"),
        fraction("share", "Of the whole."),
    ),
)  # fmt: skip


def serving_times(trace: Trace) -> Table:
    """Split the time of tokens; no rows where no range tells phases."""
    passes = [one for one in trace.once(served_passes) if one.device_start is not None]
    if not passes:
        return Table.empty(SERVING_TIMES)
    [rank] = trace.ranks
    rows = [(rank, *row) for row in (*_answers(trace, passes), *_prompts(trace, passes))]
    return Table.from_rows(SERVING_TIMES, rows)


def _answers(trace: Trace, passes: list[ServedPass]) -> list[tuple[Any, ...]]:
    answering = [i for i, one in enumerate(passes) if one.answering]
    if not answering:
        return []
    stretch = passes[answering[0] : answering[-1] + 1]
    if not all(one.answering or one.reading for one in stretch):
        return []  # what passes of unknown phase make, no range tells
    spans = windows(stretch)
    between = [(spans[i][1], spans[i + 1][0]) for i in range(len(spans) - 1) if spans[i][1] < spans[i + 1][0]]
    tiles = role_tiles(trace, [*spans, *between])
    sums: dict[str, int] = dict.fromkeys((*ROLES, IN_PASS_IDLE, PREFILL_BETWEEN, OUTSIDE_BUSY, OUTSIDE_IDLE), 0)
    for one, tile in zip(stretch, tiles, strict=False):
        if one.reading:
            sums[PREFILL_BETWEEN] += sum(tile.values())
            continue
        for name, spent in tile.items():
            sums[IN_PASS_IDLE if name == IDLE else name] += spent
    for tile in tiles[len(spans) :]:
        for name, spent in tile.items():
            sums[OUTSIDE_IDLE if name == IDLE else OUTSIDE_BUSY] += spent
    of = VERIFIED if any(one.batch.drafted for one in stretch) else OUTPUT
    return _rows(of, sums, len(answering), 1)


def _prompts(trace: Trace, passes: list[ServedPass]) -> list[tuple[Any, ...]]:
    at = [i for i, one in enumerate(passes) if one.reading and one.batch.prompt_tokens]
    if not at:
        return []
    spans = windows(passes)
    tokens = sum(passes[i].batch.prompt_tokens or 0 for i in at)
    sums: dict[str, int] = dict.fromkeys((*ROLES, IN_PASS_IDLE), 0)
    for tile in role_tiles(trace, [spans[i] for i in at]):
        for name, spent in tile.items():
            sums[IN_PASS_IDLE if name == IDLE else name] += spent
    return _rows(PROMPT, sums, tokens, _PROMPTS)


def _rows(of: str, sums: dict[str, int], number: int, times: int) -> list[tuple[Any, ...]]:
    total = sum(sums.values())
    return [
        (of, part, spent, spent * times // number, spent / total if total else 0.0)
        for part, spent in sums.items() if spent
    ]  # fmt: skip


ANALYSES = (Analysis(SERVING_TIMES, serving_times),)
