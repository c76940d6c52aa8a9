"""What became of a recording, in sentences: what each rank recorded, what it cost, and why there is nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from stepscope.language import listing, pattern, said
from stepscope.record.job.report import ProcessReport
from stepscope.record.machine.sampler import MachineSampler
from stepscope.record.retold import retold
from stepscope.record.settings import RecordSettings

_SOURCES = {
    "optimizer": said("steps are updates by the optimizer"),
    "loader": said("steps are batches of the data loader, since no optimizer updates"),
    "model": said("steps are calls of the model, since there is neither an optimizer nor a data loader"),
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
    names = {id(one): _name(one, is_rank=one.world_size > 1 or alone) for one in reports}
    lines: list[str] = [_recorded(one, names[id(one)], settings.profiler) for one in recorded]
    for one in reports:
        name = names[id(one)]
        if one.world_size > 1 or alone:
            name = said("{rank} (process {pid})", rank=name, pid=one.pid)
        lines += [said("{name}: {note}", name=name, note=retold(note)) for note in one.notes]
    for one in reports:
        lines += [said("recorded memory of {name}: {path}", name=names[id(one)], path=path) for path in one.snapshots]
    if not recorded:
        why = _nothing(reports, settings)
        has_memory = any(one.snapshots for one in reports)
        none = pattern("no step was recorded: {why}") if has_memory else pattern("nothing was recorded: {why}")
        lines.append(said(none, why=why))
    return lines


def _name(one: ProcessReport, *, is_rank: bool) -> str:
    return said("rank {rank}", rank=one.rank) if is_rank else said("process {pid}", pid=one.pid)


def about_samples(sampler: MachineSampler | None) -> list[str]:
    """End sampling; what is to be said about it, a sentence without a full stop, if there are samples."""
    path = sampler.stop() if sampler else None
    if sampler is None or path is None:
        return []
    share = 100 * sampler.spent_ns / max(sampler.lived_ns, 1)
    return [
        said(
            "sampled the machine {samples} times, which took {share:.2f} % of a core: {path}",
            samples=sampler.samples, share=share, path=path,
        )
    ]  # fmt: skip


def _recorded(one: ProcessReport, name: str, profiler: str) -> str:
    if one.stop < 0 and one.source != "time":
        killed = said("{name} was killed while its steps from {first} on were recorded", name=name, first=one.first)
        if profiler != "torch":
            return killed
        return said("{killed}; their marks are left: {file}", killed=killed, file=one.files[-1])
    what = said("a stretch of time, since no steps were found")
    if one.source != "time":
        what = said("{steps} ({source})", steps=_span(one), source=_SOURCES[one.source])
    last_of = said(", the last of {count} recordings", count=one.recordings) if one.recordings > 1 else ""
    return said(
        "recorded {what} of {name}{last_of}{cost}: {file}",
        what=what, name=name, last_of=last_of, cost=_cost(one), file=one.files[-1],
    )  # fmt: skip


def _span(one: ProcessReport) -> str:
    """The steps that were recorded as a whole, and the one in which the recording was cut."""
    last = one.stop - 1
    whole = ""
    if last >= one.first:
        steps = pattern("step {first}") if last == one.first else pattern("steps {first} to {last}")
        whole = said(steps, first=one.first, last=last)
    if not one.cut:
        return whole
    cut = said("the beginning of step {stop}, in which {cut}", stop=one.stop, cut=retold(one.cut))
    return said("{whole}, and {cut}", whole=whole, cut=cut) if whole else cut


def _cost(one: ProcessReport) -> str:
    costs: list[str] = []
    if one.outside_ns and one.inside_ns:
        more = 100 * (one.inside_ns / one.outside_ns - 1)
        inside, outside = one.inside_ns / 1e6, one.outside_ns / 1e6
        costs.append(
            said(
                "a recorded step took {inside:.1f} ms, {more:+.0f} % of the {outside:.1f} ms before",
                inside=inside, more=more, outside=outside,
            )
        )  # fmt: skip
    if one.apart_ns:
        costs.append(said("starting, stopping and writing took {seconds:.1f} s", seconds=one.apart_ns / 1e9))
    rest = one.hooks_ns - one.apart_ns
    # Of steps that were passed over nobody knows what they cost.
    if one.lived_ns and not one.passed:
        costs.append(said("finding steps took {share:.2f} % of the run", share=100 * rest / one.lived_ns))
    return said("; {costs}", costs=listing(costs, "; ")) if costs else ""


def _nothing(reports: list[ProcessReport], settings: RecordSettings) -> str:
    """Why nothing was recorded, and what to do."""
    if not reports:
        return said(
            "no process of the program imported torch and ended by itself; record a program that uses PyTorch, in a"
            " Python that reads PYTHONPATH (not started with -I or -E), and where it runs on other machines, into a"
            " folder that they share"
        )
    most = max(reports, key=lambda one: one.seen)
    if most.source and not settings.scheduled:
        return said("nobody asked for it in {seen} steps, and none was slow enough", seen=most.seen)
    if most.seen > settings.first and most.notes:
        return said("the steps asked for could not be")
    if most.source:
        return said(
            "the program ended after {seen} steps, before step {first}; record earlier ones with --steps 1:{stop}",
            seen=most.seen, first=settings.first, stop=max(2, most.seen),
        )  # fmt: skip
    until = said("within {seconds:.0f} s", seconds=settings.patience_s)
    if most.lived_ns < settings.patience_s * 1e9:
        until = said("before the program ended after {seconds:.1f} s", seconds=most.lived_ns / 1e9)
    return said(
        "no step was found, neither updates by an optimizer nor batches of a data loader nor calls of a model, {until}",
        until=until,
    )
