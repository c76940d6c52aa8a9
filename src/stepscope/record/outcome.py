"""What became of a recording, in sentences: what each rank recorded, what it cost, and why there is nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from stepscope.record.job.report import ProcessReport
from stepscope.record.machine.sampler import MachineSampler
from stepscope.record.settings import RecordSettings

_SOURCES = {
    "optimizer": "steps are updates by the optimizer",
    "loader": "steps are batches of the data loader, since no optimizer updates",
    "model": "steps are calls of the model, since there is neither an optimizer nor a data loader",
    "time": "a stretch of time, since no steps were found",
}


def reports_in(folder: Path) -> list[ProcessReport]:
    """What the processes of a job wrote, by rank and number of the process."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append(ProcessReport.read(path))
    return sorted(found, key=lambda one: (one.rank, one.pid))


def sentences(reports: list[ProcessReport], settings: RecordSettings) -> list[str]:
    """What is to be said about a recording, a sentence each, without a full stop."""
    recorded = [one for one in reports if one.files]
    # Processes that belong to no group are no ranks, unless there is just one.
    at_work = [one for one in reports if one.files or one.seen]
    alone = len(at_work) < 2
    names = {id(one): f"rank {one.rank}" if one.world_size > 1 or alone else f"process {one.pid}" for one in reports}
    lines = [_recorded(one, names[id(one)], settings.profiler) for one in recorded]
    for one in reports:
        name = names[id(one)]
        name = name if name.startswith("process") else f"{name} (process {one.pid})"
        lines += [f"{name}: {note}" for note in one.notes]
    lines += [f"recorded memory of {names[id(one)]}: {path}" for one in reports for path in one.snapshots]
    if not recorded:
        what = "no step" if any(one.snapshots for one in reports) else "nothing"
        lines.append(f"{what} was recorded: {_nothing(reports, settings)}")
    return lines


def about_samples(sampler: MachineSampler | None) -> list[str]:
    """End sampling; what is to be said about it, a sentence without a full stop, if there are samples."""
    path = sampler.stop() if sampler else None
    if sampler is None or path is None:
        return []
    share = 100 * sampler.spent_ns / max(sampler.lived_ns, 1)
    return [f"sampled the machine {sampler.samples} times, which took {share:.2f} % of a core: {path}"]


def _recorded(one: ProcessReport, name: str, profiler: str) -> str:
    if one.stop < 0 and one.source != "time":
        killed = f"{name} was killed while its steps from {one.first} on were recorded"
        return f"{killed}; their marks are left: {one.files[-1]}" if profiler == "torch" else killed
    what = _SOURCES["time"] if one.source == "time" else f"{_span(one)} ({_SOURCES[one.source]})"
    last_of = f", the last of {one.recordings} recordings" if one.recordings > 1 else ""
    return f"recorded {what} of {name}{last_of}{_cost(one)}: {one.files[-1]}"


def _span(one: ProcessReport) -> str:
    """The steps that were recorded as a whole, and the one in which the recording was cut."""
    last = one.stop - 1
    whole = "" if last < one.first else f"step {one.first}" if last == one.first else f"steps {one.first} to {last}"
    if not one.cut:
        return whole
    cut = f"the beginning of step {one.stop}, in which {one.cut}"
    return f"{whole}, and {cut}" if whole else cut


def _cost(one: ProcessReport) -> str:
    costs = []
    if one.outside_ns and one.inside_ns:
        more = 100 * (one.inside_ns / one.outside_ns - 1)
        inside, outside = one.inside_ns / 1e6, one.outside_ns / 1e6
        costs.append(f"a recorded step took {inside:.1f} ms, {more:+.0f} % of the {outside:.1f} ms before")
    if one.apart_ns:
        costs.append(f"starting, stopping and writing took {one.apart_ns / 1e9:.1f} s")
    rest = one.hooks_ns - one.apart_ns
    # Of steps that were passed over nobody knows what they cost.
    if one.lived_ns and not one.passed:
        costs.append(f"finding steps took {100 * rest / one.lived_ns:.2f} % of the run")
    return f"; {'; '.join(costs)}" if costs else ""


def _nothing(reports: list[ProcessReport], settings: RecordSettings) -> str:
    """Why nothing was recorded, and what to do."""
    if not reports:
        return (
            "no process of the program imported torch and ended by itself; record a program that uses PyTorch, in a"
            " Python that reads PYTHONPATH (not started with -I or -E), and where it runs on other machines, into a"
            " folder that they share"
        )
    most = max(reports, key=lambda one: one.seen)
    if most.source and not settings.scheduled:
        return f"nobody asked for it in {most.seen} steps, and none was slow enough"
    if most.seen > settings.first and most.notes:
        return "the steps asked for could not be"
    if most.source:
        return (
            f"the program ended after {most.seen} steps, before step {settings.first};"
            f" record earlier ones with --steps 1:{max(2, most.seen)}"
        )
    ended = most.lived_ns < settings.patience_s * 1e9
    until = (
        f"before the program ended after {most.lived_ns / 1e9:.1f}" if ended else f"within {settings.patience_s:.0f}"
    )
    return (
        "no step was found, neither updates by an optimizer nor batches of a data loader nor calls of a model,"
        f" {until} s"
    )
