"""The recorded run: a few steps with the profiler, and the findings that name remedies."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from stepscope.language import brought, carried, said
from stepscope.model.errors import StepscopeError
from stepscope.model.events.columns import Spans
from stepscope.model.trace import Trace
from stepscope.record.job.report import ProcessReport
from stepscope.record.machine.sampler import MachineSampler
from stepscope.record.outcome import reports_in
from stepscope.record.retold import retold
from stepscope.record.settings import VARIABLE, RecordSettings
from stepscope.trying.exchange import host_exchange
from stepscope.trying.failures import reason_of
from stepscope.trying.job.settings import TrialSettings
from stepscope.trying.runs import Workplace
from stepscope.trying.seen import Seen

_LOOK_S: Final = 0.1
#: The rules of the wait for batches, and of the busy machine that it is put down to; and from which share of the step.
_WAIT: Final = "DAT001"
_BUSY: Final = "SYS007"
_MUCH: Final = 0.05
#: Operators below this are said to be small: what they compute takes hardly longer than what calling them takes.
_SMALL_NS: Final = 100_000


@dataclass(frozen=True, slots=True)
class NamedFinding:
    """A finding of the base run.

    Attributes:
        code: Its rule.
        title: What is wrong.
        share: What its remedy would save, as a share of the step; None if it has no price.
        shown: Whether a report shows it unasked.
    """

    code: str
    title: str
    share: float | None
    shown: bool


@dataclass(slots=True)
class RecordedRun:
    """What the recorded run showed.

    Attributes:
        findings: Findings, the first to mend first.
        folder: Its recordings; empty if there are none.
        why: Why there are none, a phrase.
        seconds: How long the run took.
        small_operators: As of what was seen of the program.
        waits: The same.
        exchange: The same.
        exchanges: The same.
    """

    findings: list[NamedFinding] = field(default_factory=list)
    folder: str = ""
    why: str = ""
    seconds: float = 0.0
    small_operators: int = 0
    waits: float = 0.0
    exchange: float = 0.0
    exchanges: int = 0

    def tell(self, seen: Seen) -> None:
        """Add to what was seen what only a recording shows."""
        seen.small_operators, seen.waits = self.small_operators, self.waits
        seen.exchange, seen.exchanges = self.exchange, self.exchanges

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "why": carried(self.why)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RecordedRun:
        """From JSON values."""
        findings = [NamedFinding(**one) for one in values["findings"]]
        return cls(**{**values, "findings": findings, "why": brought(values["why"])})


def recorded_run(workplace: Workplace, settings: TrialSettings, limit_s: float) -> RecordedRun:
    """Run the program with a few steps recorded, and look at them."""
    run = workplace.open("recorded")
    folder = workplace.folder / "recording"
    # What a call that was cut has left.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    first = settings.warmup
    asked = RecordSettings(str(folder), str(run.reports), first, first + 4, patience_s=limit_s)
    sampler = MachineSampler(folder, run.reports)
    status, hung = None, False
    try:
        pid = run.start(TrialSettings("", "", seed=settings.seed), {VARIABLE: asked.text()})
        sampler.start(pid)
        while not run.is_over() and not _is_written(reports_in(run.reports)):
            if run.seconds > limit_s:
                hung = True
                break
            time.sleep(_LOOK_S)
        status, seconds = run.status, run.seconds
    finally:
        sampler.stop()
        run.end()
    reports = reports_in(run.reports)
    if not any(one.files for one in reports):
        notes = [note for one in reports for note in one.notes]
        reason = retold(notes[0]) if notes else reason_of(run.output(), status, 0, limit_s if hung else None)
        return RecordedRun(why=reason, seconds=seconds)
    try:
        found = _looked_at(folder)
    except StepscopeError as error:
        return RecordedRun(folder=str(folder), why=error.message, seconds=seconds)
    found.folder, found.seconds = str(folder), seconds
    return found


def _is_written(reports: Sequence[ProcessReport]) -> bool:
    """Whether every rank has recorded its steps and written them."""
    done = [one for one in reports if one.files and one.stop >= 0]
    return bool(done) and len({one.rank for one in done}) >= max(one.world_size for one in done)


def _looked_at(folder: Path) -> RecordedRun:
    """The findings of recordings, and what the first rank shows."""
    from stepscope.ingest import Options, open_trace
    from stepscope.reports.build import ReportOptions, build_report
    from stepscope.signals import Signals
    from stepscope.signals.data.data import wait_share

    with open_trace([folder], Options(cache=False)) as trace:
        found = build_report(trace, ReportOptions(page=True)).findings
        first = trace.rank(trace.ranks[0])
        small = _small_operators(first)
        waits = Signals.of(first).maybe(wait_share) or 0.0
        share, count = host_exchange(first)
    named = [NamedFinding(one.code, one.title, _share(one), one.shown) for one in found]
    return RecordedRun(
        with_data_wait(named, waits), small_operators=small, waits=waits, exchange=share, exchanges=count
    )


def with_data_wait(findings: list[NamedFinding], waits: float) -> list[NamedFinding]:
    """Findings, and the wait for batches where it counts as part of a busy machine, which workers may shorten anyway.

    Args:
        findings: As a report has them.
        waits: Share of the step that waits for its batch.
    """
    codes = {one.code for one in findings}
    if waits < _MUCH or _BUSY not in codes or _WAIT in codes:
        return findings
    return [*findings, NamedFinding(_WAIT, said("Waiting for batches, beside a busy machine"), waits, True)]


def _small_operators(trace: Trace) -> int:
    spans = Spans(trace)
    inner = spans.of("op") & (spans.step >= 0)
    inner[spans.around[spans.around >= 0]] = False
    lengths = spans.dur[inner]
    steps = int(np.unique(spans.step[inner]).size)
    return int(lengths.size) // steps if steps and float(np.median(lengths)) < _SMALL_NS else 0


def _share(finding: Any) -> float | None:
    """What the remedy saves by itself, as a share of the step."""
    if finding.share is None:
        return None
    if finding.alone_ns is not None and finding.cost_ns:
        return float(finding.share * finding.alone_ns / finding.cost_ns)
    return float(finding.share)
