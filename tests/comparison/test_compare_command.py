"""`stepscope compare` on small recordings of the simulator's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import stepscope
from stepscope.cli.main import run
from stepscope.simulate import SimJob, simulate

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("compare")
    job = SimJob(ranks=2, steps=5, model="mlp", layers=2)
    simulate(job, found / "base")
    simulate(SimJob(ranks=2, steps=5, model="mlp", layers=2, compute_scale=40.0, workers=0), found / "new")
    return found


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)

    def called(*arguments: str) -> tuple[int, str, str]:
        status = run(["compare", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def test_the_page(call: Call) -> None:
    status, out, err = call("base", "new")
    assert (status, err) == (0, "")
    assert "slower: " in out
    assert "What the difference is made of" in out


def test_files_and_json_that_adds_up(call: Call, folder: Path) -> None:
    outputs = ("--json", "-", "--html", "page.html", "--markdown", "page.md")
    status, out, _ = call("base", "new", "--no-findings", *outputs)
    assert status == 0
    assert "<h2>Verdict</h2>" in (folder / "page.html").read_text(encoding="utf-8")
    assert "## Verdict" in (folder / "page.md").read_text(encoding="utf-8")
    document = json.loads(out)
    assert document["schema"] == "stepscope.comparison/1"
    times = document["step_time"]
    assert document["verdict"] == "slower"
    assert 0 < times["low_ns"] < times["diff_ns"] < times["high_ns"]
    assert sum(part["diff_ns"] for part in document["parts"]) == times["diff_ns"] == times["new_ns"] - times["base_ns"]


def test_a_recording_beside_itself(call: Call) -> None:
    status, out, _ = call("base", "base", "--no-findings", "--json", "-")
    document = json.loads(out)
    assert (status, document["verdict"], document["comparable"]) == (0, "same", [])
    assert {part["diff_ns"] for part in document["parts"]} == {0}


def test_two_ranks_and_two_steps_of_one_input(call: Call) -> None:
    document = json.loads(call("base", "--base-rank", "0", "--rank", "1", "--no-findings", "--json", "-")[1])
    assert (document["base"]["rank"], document["new"]["rank"]) == (0, 1)
    assert [one["what"] for one in document["comparable"]] == ["rank"]
    document = json.loads(call("base", "--base-step", "2", "--step", "3", "--no-findings", "--json", "-")[1])
    assert (document["base"]["steps"], document["new"]["steps"]) == ([2], [3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["base"], "one recording has nothing to be compared with"),
        (["base", "--base-rank", "0"], "both sides are rank 0 of one recording"),
        (["base", "new", "--level", ","], "there is no level ''"),
        (["base", "new", "--rank", "7"], "the input has no rank 7"),
        (["base", "new", "--step", "99"], "rank 0 has no step 99"),
        (["base", "nowhere"], "nowhere does not exist"),
        (["base", "new", "--view", "--json", "-"], "--view serves the comparison"),
        (["base", "new", "--confidence", "2"], "no interval has a confidence of 2"),
    ],
)
def test_errors_are_one_sentence(call: Call, arguments: list[str], message: str) -> None:
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
    found = stepscope.compare(folder / "base", folder / "new", rank=1)
    assert isinstance(found, stepscope.Comparison)
    assert (found.base.rank, found.new.rank, found.verdict) == (1, 1, "slower")
    assert found.table("compute_operators").to_arrow().num_rows
    assert callable(stepscope.compare)
    swept = stepscope.sweep([folder / "new", folder / "base"], at=(2, 1), by="ranks")
    assert [one.summary.facts.source.split("/")[-2] for one in swept.points] == ["base", "new"]
    with pytest.raises(stepscope.UserError, match="at least one recording"):
        stepscope.sweep([])
    with pytest.raises(stepscope.UserError, match="no table called 'kernels'"):
        found.table("kernels")


def test_more_than_two_recordings_are_a_sweep(call: Call) -> None:
    status, out, err = call("base", "new", "base", "--at", "16,8,32", "--json", "-")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert (document["schema"], document["axis"]["at"]) == ("stepscope.sweep/1", [8, 16, 32])
    assert call("new", "base", "--csv", "-")[1].startswith("at,source,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["base", "new", "new", "--fail-on", "step_time>3%"], "--fail-on is about two recordings, not a sweep"),
        (["base", "new", "new", "--base-rank", "0"], "--base-rank is about two recordings, not a sweep"),
        (["base", "--at", "8"], "--at is about several recordings"),
        (["base", "new", "--xlsx", "-"], "a workbook can't be written to standard output"),
    ],
)
def test_options_that_do_not_go_together(call: Call, arguments: list[str], message: str) -> None:
    status, out, err = call(*arguments)
    assert (status, out, message in err, err.count("\n")) == (2, "", True, 1)
