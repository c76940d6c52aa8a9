"""One damaged recording, analysed: what came of it."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Final

from bench.damage.mutations import REMOVING, damaged
from bench.damage.recordings import Recording
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import StepscopeError
from stepscope.model.tables.memory import MEMORY_TABLES
from stepscope.reports import build

READ: Final = "read"
REFUSED: Final = "refused in a sentence"
FAILED: Final = "failed"
SILENT: Final = "lost rows in silence"
GONE: Final = "rows are gone with their bytes"
HUNG: Final = "hung"
DIED: Final = "died"

#: What holds each of its texts once: fewer of them are no loss as long as as many rows refer to them.
_DISTINCT: Final = ("call_frames", "call_stacks")
#: What is read row by row; all other tables are worked out from these, or say what is in them.
_READ: Final = {
    name: f"SELECT count(*) FROM {name}"
    for name in ("events", "counters", "memory", *(table.name for table in MEMORY_TABLES))
    if name not in _DISTINCT
} | {
    f"stacks of {name}": f"SELECT coalesce(sum(len(frames)), 0) FROM {name} JOIN call_stacks USING (stack)"
    for name in ("allocator_events", "allocations", "blocks", "segments")
}  # fmt: skip
#: How much there is, not what is wrong with it.
_TOTALS: Final = ("events-read",)


@dataclass(frozen=True, slots=True)
class Case:
    """A recording by its position, and how often and with which seed it is damaged."""

    recording: int
    mutations: int
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case; `detail` says more of what must not be."""

    case: Case
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    peak_kb: int = 0


@dataclass(frozen=True, slots=True)
class Clean:
    """What an undamaged recording gives: rows by table, what health counts by code, seconds of processor time."""

    rows: dict[str, int] = field(default_factory=dict)
    health: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def clean(recording: Recording) -> Clean:
    """Analyse a recording as it is."""
    started = process_time()
    rows, health = _analysed(recording)
    return Clean(rows, health, process_time() - started)


def outcome(case: Case, recordings: list[Recording], known: Mapping[int, Clean]) -> Outcome:
    """Damage a recording and analyse it."""
    recording, said = damaged(recordings[case.recording], case.mutations, case.seed)
    before = known[case.recording]
    started = monotonic()
    try:
        rows, health = _analysed(recording)
    except StepscopeError as error:
        verdict, detail = REFUSED, str(error)
        if "\n" in detail:
            verdict = FAILED
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        verdict = FAILED
        detail = f"{type(error).__name__}: {str(error)[:160]} ({Path(where.filename).name}:{where.lineno}); {said}"
    else:
        fewer = {name: (number, rows[name]) for name, number in before.rows.items() if rows[name] < number}
        verdict, detail = READ, ""
        if fewer and not any(number > before.health.get(code, 0) for code, number in health.items()):
            verdict = GONE if any(name in said for name in REMOVING) else SILENT
            detail = f"{fewer}; {said}"
    return Outcome(case, verdict, detail, monotonic() - started, _peak_kb())


def _analysed(recording: Recording) -> tuple[dict[str, int], dict[str, int]]:
    folder = Path(tempfile.mkdtemp(prefix="damage-"))
    try:
        with open_trace(recording.write(folder), Options(cache=False)) as trace:
            # Strict, so that an analysis that fails is an error here, and not a line of health.
            report = build.build_report(trace, build.ReportOptions(strict=True))
            rows = {name: int(trace.scalar(query)) for name, query in _READ.items()}
            health: Counter[str] = Counter()
            for line in report.health:
                health[line.code] += line.count if line.code not in _TOTALS else 0
            return rows, dict(health)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _peak_kb() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
