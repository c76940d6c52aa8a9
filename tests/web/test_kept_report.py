"""A finished report kept beside the store: used again, and never where anything is another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stepscope.ingest import Options, open_trace
from stepscope.language import speaking
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.health import HealthLine
from stepscope.reports.report import Report
from stepscope.rules.settings import Settings
from stepscope.store.cache import Cache
from stepscope.web import finished, kept_report
from stepscope.web.document import head
from stepscope.web.finished import Finished, answers_to_keep
from stepscope.web.kept_report import FOLDER, KeptReport
from stepscope.web.viewing import Viewing
from web.runs.recorded import recorded

OPTIONS = ReportOptions(tables=("step_budget", "operators"))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of two ranks that no test changes; its store lies beside it."""
    folder = tmp_path_factory.mktemp("read") / "job"
    for rank in range(2):
        recorded(folder / f"rank{rank}.json", rank, ranks=2)
    opened(folder, folder.parent / "store").close()
    return folder


@pytest.fixture(scope="module")
def report(job: Path) -> Iterator[Report]:
    with opened(job, job.parent / "store") as trace:
        yield build_report(trace, OPTIONS)


@pytest.fixture
def store(job: Path, tmp_path: Path) -> Path:
    shutil.copytree(job.parent / "store", tmp_path / "store")
    return tmp_path / "store"


def opened(job: Path, store: Path) -> Trace:
    return open_trace(job, Options(store=store))


@pytest.fixture
def trace(job: Path, store: Path) -> Iterator[Trace]:
    with opened(job, store) as found:
        yield found


def keep(trace: Trace, report: Report) -> Finished:
    """Keep a report of the same recording."""
    made = Finished.of(report)
    answers = answers_to_keep(report, made)
    assert answers is not None
    KeptReport(trace, OPTIONS).save(answers)
    return made


def files(trace: Trace) -> list[Path]:
    return sorted((trace.folders[0] / FOLDER).glob("*"))


def test_it_is_used_by_the_next_process(
    job: Path, store: Path, trace: Trace, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = keep(trace, report)
    monkeypatch.setattr("stepscope.reports.build.build_report", None)
    with opened(job, store) as again:
        known = Viewing(again, OPTIONS).whole_report()
        assert (known.head(), known.tables) == (made.head(), made.tables)
        assert all(known.table(name) == made.table(name) for name in made.tables)
        assert json.loads(known.head()) == json.loads(json.dumps(head(build_report(again, OPTIONS)), default=str))
        assert known.rows("operators") == build_report(again, OPTIONS).rows("operators")
        assert known.rows("kernels") == []
        with pytest.raises(UserError, match="no table called 'kernels'"):
            known.table("kernels")


def test_a_viewing_keeps_what_it_makes(trace: Trace) -> None:
    viewing = Viewing(trace, OPTIONS)
    made = viewing.whole_report()
    assert viewing.keeping is not None
    viewing.keeping.join(20)
    known = KeptReport(trace, OPTIONS).load()
    assert known is not None
    assert known.head() == made.head()


def test_other_options_steps_and_ranks_have_another(trace: Trace, report: Report) -> None:
    keep(trace, report)
    for other in (
        replace(OPTIONS, rules=Settings(least=0.5)),
        replace(OPTIONS, strict=True),
        replace(OPTIONS, tables=()),
    ):
        assert KeptReport(trace, other).load() is None
    assert KeptReport(trace.rank(0), OPTIONS).load() is None
    assert KeptReport(trace, replace(OPTIONS, progress=print)).load() is not None


def test_another_version_has_another(trace: Trace, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(trace, report)
    monkeypatch.setattr(kept_report, "_code", lambda: "other code")
    assert KeptReport(trace, OPTIONS).load() is None
    monkeypatch.undo()
    monkeypatch.setattr(kept_report, "__version__", "0.0.0")
    assert KeptReport(trace, OPTIONS).load() is None


def test_a_changed_recording_has_another(job: Path, tmp_path: Path, report: Report) -> None:
    own, store = tmp_path / "job", tmp_path / "store"
    shutil.copytree(job, own)
    with opened(own, store) as trace:
        keep(trace, report)
        assert KeptReport(trace, OPTIONS).load() is not None
        recorded(own / "rank1.json", 1, ts=5000, ranks=2)
        with opened(own, store) as changed:
            assert changed.folders[0] == trace.folders[0], "rank 0 is the same, and so is its store"
            assert KeptReport(changed, OPTIONS).load() is None


def test_what_was_said_on_opening_belongs_to_it(job: Path, store: Path, trace: Trace, report: Report) -> None:
    keep(trace, report)
    notes = job / "notes.json"
    notes.write_text("{}")
    try:
        with opened(job, store) as other:
            assert KeptReport(other, OPTIONS).load() is None
    finally:
        notes.unlink()


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign"])
def test_a_damaged_copy_is_made_again(trace: Trace, report: Report, damage: str) -> None:
    made = keep(trace, report)
    (file,) = files(trace)
    content = file.read_bytes()
    at = content.index(b'"health"')
    file.write_bytes(
        {
            "cut": content[:-70],
            "changed": content[:at] + b'"wealth"' + content[at + 8 :],
            "empty": b"",
            "foreign": b"{}",
        }[damage]
    )
    assert KeptReport(trace, OPTIONS).load() is None
    keep(trace, report)
    known = KeptReport(trace, OPTIONS).load()
    assert known is not None
    assert known.head() == made.head()


def test_what_failed_or_is_too_large_is_not_kept(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = replace(report, health=(HealthLine("rank-failed", "error", "a rank was left out", "", 1, 0),))
    assert answers_to_keep(failed, Finished.of(failed)) is None
    size = len(b"".join((answers_to_keep(report, Finished.of(report)) or {}).values()))
    monkeypatch.setattr(finished, "_MOST", size)
    assert answers_to_keep(report, Finished.of(report)) is not None
    monkeypatch.setattr(finished, "_MOST", size - 1)
    assert answers_to_keep(report, Finished.of(report)) is None


def test_rules_of_third_parties_have_it_made_each_time(
    trace: Trace, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(trace, report)
    monkeypatch.setattr(kept_report, "entry_points", lambda group: [group])
    assert KeptReport(trace, OPTIONS).load() is None


def test_a_recording_without_a_key_has_no_place(job: Path) -> None:
    with open_trace(job / "rank0.json", Options(cache=False)) as trace:
        assert trace.stores
        trace.stores = ()
        KeptReport(trace, OPTIONS).save({"report": b"{}"})
        assert files(trace) == []


def test_few_are_kept_and_clearing_removes_them(store: Path, trace: Trace) -> None:
    for least in range(6):
        KeptReport(trace, replace(OPTIONS, rules=Settings(least=least / 10))).save({"report": b"{}"})
    assert len(files(trace)) == 4
    assert KeptReport(trace, replace(OPTIONS, rules=Settings(least=0.5))).load() is not None
    folder = trace.folders[0]
    trace.close()
    assert Cache(store).clear().removed == 2
    assert not folder.exists()


def test_a_store_that_can_not_be_written_keeps_nothing(
    trace: Trace, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trace.folders[0] / FOLDER).write_text("in the way")
    keep(trace, report)
    assert KeptReport(trace, OPTIONS).load() is None


def test_each_language_has_its_own(trace: Trace, report: Report) -> None:
    made = keep(trace, report)
    with speaking("zh"):
        assert KeptReport(trace, OPTIONS).load() is None
        chinese = keep(trace, report)
        known = KeptReport(trace, OPTIONS).load()
        assert known is not None
        assert known.head() == chinese.head() != made.head()
    known = KeptReport(trace, OPTIONS).load()
    assert known is not None
    assert known.head() == made.head()
    assert "数据完整性" in [one["title"] for one in json.loads(chinese.head())["page"]["sections"]]
