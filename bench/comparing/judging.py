"""What a comparison says of a planted change, held against what was planted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.comparing.ascend import planted_folder
from bench.comparing.nsight import PlantedDatabase
from bench.comparing.trace import PlantedTrace
from bench.comparing.truth import Truth
from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.result import Comparison
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace

#: The limit of the gate that is asked.
LIMIT = 0.03
_MARGIN = 0.01


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether what is said is right.

    Attributes:
        verdict: Whether the verdict is.
        cause: Whether what it is put down to is.
        gate: Whether the gate on the step lets nothing pass that grew by more than its limit beyond noise.
        growth: By how much the mean step grew, planted.
        said: Verdict and sentences.
    """

    verdict: bool
    cause: bool
    gate: bool
    growth: float
    said: str


def reading(path: Path) -> PlantedTrace:
    """A recording that takes plants, of PyTorch, of Nsight Systems or of the Ascend profiler."""
    if path.is_dir():
        return planted_folder(path)
    return PlantedDatabase(path) if path.suffix == ".sqlite" else PlantedTrace(path)


@contextmanager
def opened(path: Path) -> Iterator[Trace]:
    """A recording, read anew."""
    with open_trace(path, Options(cache=False)) as trace:
        yield trace


def compared(base: Trace, new: Trace) -> Comparison:
    """The comparison of two recordings, without findings."""
    return compare_traces(base, new, CompareOptions(findings=False))


def judged(found: Comparison, truth: Truth) -> Judged:
    """Hold a comparison against what was planted."""
    times = found.step_time
    growth = truth.added_ns / truth.steps / max(1, times.base_ns)
    noise = 0.0 if times.interval is None else max(times.interval.high / times.interval.ratio - 1, 0.0)
    said = f"{found.verdict}: {times.reason} | {found.cause}"
    return Judged(
        _verdict(found, truth, growth, noise), _cause(found, truth), _gate(found, truth, growth, noise), growth, said
    )


def _verdict(found: Comparison, truth: Truth, growth: float, noise: float) -> bool:
    """Beyond noise the direction must be said; within noise that it is, which the cause then makes up for."""
    if not truth.added_ns:
        return found.verdict in ("same", "inconclusive")
    right = "slower" if growth > 0 else "faster"
    if truth.slow:
        # A single stall that is gone may come back, and proves nothing.
        single = growth < 0 and found.step_time.steps.slow.base.count == 1
        return found.verdict == right or (single and found.verdict == "inconclusive")
    if abs(growth) > noise + _MARGIN:
        return found.verdict == right
    return (
        found.verdict in (right, "inconclusive", "same")
        if abs(growth) < _MARGIN
        else found.verdict in (right, "inconclusive")
    )


def _cause(found: Comparison, truth: Truth) -> bool:
    """Whether the first cause named is what was planted, surely, and no other sure cause outweighs half of it."""
    if truth.memory:
        return "peak memory" in found.cause and not any(one.sure for one in found.causes)
    if truth.slow:
        reason = found.step_time.reason.lower()
        counted = any(f"{number} of " in reason for number in (truth.slow, truth.slow - 1) if number)
        return counted and _said(reason, truth)
    sure = [one for one in found.causes if one.sure]
    if not sure and found.verdict == "inconclusive" and "; most in " in found.cause:
        sure = list(found.causes[:1])  # within its own noise, and said to be
    right = [one for one in sure if one.part.startswith(truth.parts) and (one.diff_ns > 0) == (truth.added_ns > 0)]
    if not right or not any(_said(f"{one} {_batch(found.cause)}".lower(), truth) for one in right):
        return False
    told = sum(abs(one.diff_ns) for one in right)
    return all(abs(one.diff_ns) <= told / 2 for one in sure if one not in right)


def _said(words: str, truth: Truth) -> bool:
    return all(any(one in words for one in group) for group in truth.words)


def _batch(cause: str) -> str:
    """What is said of the batch before all parts."""
    return cause.partition(";")[0] if cause.startswith("batch ") else ""


def _gate(found: Comparison, truth: Truth, growth: float, noise: float) -> bool:
    if not any(one.name == "step_time" for one in found.metrics):
        return True
    [result] = judge([growth_limit("step_time>3%")], found.metrics)
    beyond = (truth.slow and growth > LIMIT + _MARGIN) or growth > LIMIT + noise
    return result.failed if beyond else True
