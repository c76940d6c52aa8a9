"""Find the steps on the host: marked ones, else those that repeated work shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.annotations import annotated_steps
from stepscope.ingest.derive.steps.marks import loaded_steps, optimized_steps
from stepscope.ingest.derive.steps.parts import steps_of_parts
from stepscope.ingest.derive.steps.passes import network_passes, passes_of
from stepscope.ingest.derive.steps.recorded import recorded_steps
from stepscope.ingest.derive.steps.requests import request_steps
from stepscope.ingest.derive.steps.rounds import ROUNDS, round_steps
from stepscope.ingest.derive.steps.sequences import inferred_steps, may_repeat
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.ingest.derive.steps.use import in_use
from stepscope.ingest.derive.work import RecordedWork
from stepscope.language import said
from stepscope.store.staging import Staging

_SPAN_SQL: Final = "SELECT min(ts), max(ts + coalesce(dur, 0)) FROM raw_events"
#: What shows that the host is recorded.
_OF_HOST: Final = ("op", "launch", "runtime", "sync")
#: No step of a job takes less on its host, where one operator takes microseconds. What repeats faster is a call inside
#: one, such as a lookup of an attribute.
_LEAST_NS: Final = 500
#: Sources of steps in order of precedence: what must be recorded, the search, and the value of column `source`.
SOURCES: Final = (
    ("profiler", recorded_steps, "step", None),
    ("annotation", annotated_steps, "annotation", None),
    ("annotation", steps_of_parts, "annotation", None),
    ("annotation", loaded_steps, "dataloader", (
        said("steps reach from one batch of the data loader to the next, since none are marked"),
        said("what is done between two batches counts as one step"),
    )),
    ("annotation", optimized_steps, "annotation", (
        said("steps reach from the end of one step of the optimizer to that of the next, since none are marked"),
        said("what is done between two of them counts as one step"),
    )),
    ("annotation", round_steps, "annotation", ROUNDS),
    ("requests", request_steps, "annotation", (
        said("requests overlap on several threads: each counts from its start to the start of the next"),
        said("lengths are those of one request among others, and no latencies"),
    )),
    ("passes", network_passes, "module", (
        said("steps are the passes of a network, since none are marked"),
        said("what lies before and after them is outside the steps"),
    )),
    ("inferred", inferred_steps, None, None),
)  # fmt: skip


def find_steps(staging: Staging, overview: Overview, work: RecordedWork) -> tuple[str, list[HostStep]]:
    """The steps and their source."""
    for source, find, category, words in SOURCES:
        there = may_repeat(overview) if category is None else overview.on_host(category)
        steps = _apart(find(staging)) if there else []
        if not steps or (find in (round_steps, inferred_steps) and _too_short(steps, overview)):
            continue
        passes = passes_of(staging, steps) if overview.on_host("module") else steps
        if passes is not steps:
            source, words = "passes", (
                said("steps are the passes of a network of which {name} holds several", name=steps[0].name),
                said("what lies before and after them is outside the steps"),
            )  # fmt: skip
        if words:
            staging.observe("steps-loaded" if find is loaded_steps else "steps-found", "info", len(passes), *words)
        return source, passes
    if not overview.total:
        return "whole", []
    first, last = in_use(staging, overview, work, overview.on_host(*_OF_HOST)) or staging.one(_SPAN_SQL)
    return "whole", [HostStep("whole recording", None, first, last - first)]


def _too_short(steps: list[HostStep], overview: Overview) -> bool:
    """Whether what repeats on the host, where no device work is recorded, is too short for a step."""
    lengths = sorted(step.dur for step in steps)
    return not overview.has("kernel") and lengths[len(lengths) // 2] < _LEAST_NS


def _apart(steps: list[HostStep]) -> list[HostStep]:
    """The steps by start, each cut where the next starts; the longest of those with equal starts."""
    steps = sorted(steps, key=lambda step: (step.ts, -step.dur))
    kept = [step for i, step in enumerate(steps) if not i or step.ts > steps[i - 1].ts]
    limits = [step.ts for step in kept[1:]]
    cut = [replace(step, dur=min(step.dur, limit - step.ts)) for step, limit in zip(kept[:-1], limits, strict=True)]
    return cut + kept[-1:]
