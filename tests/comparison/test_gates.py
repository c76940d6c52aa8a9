"""Limits on growth, and baselines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.cli.main import run
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.metrics import MetricShift
from stepscope.model.errors import UserError
from stepscope.simulate import SimJob, simulate

Call = Callable[..., tuple[int, str, str]]


def shifted(diff: float, low: float, base: int = 1000, name: str = "step_time") -> MetricShift:
    return MetricShift(name, "ns", base, round(base + diff), diff, low, 2 * diff - low, "ranks")


@pytest.mark.parametrize(
    ("diff", "low", "failed"),
    [(31, 1, True), (30, 1, False), (31, 0, False), (500, -10, False), (-500, -600, False)],
    ids=["outside", "at the limit", "touches noise", "within noise", "faster"],
)
def test_a_gate(diff: float, low: float, failed: bool) -> None:
    [result] = judge([growth_limit("step_time>3%")], [shifted(diff, low)])
    assert result.failed is failed


@pytest.mark.parametrize(
    ("low", "high", "base", "expected"),
    [
        (10, 90, 1000, "interval 1.0 % to 9.0 %"),
        (-5_000, 5_000, 1000, "interval -100.0 % to 500.0 %"),
        (-50_000, 50_000, 1000, "interval -100.0 % and more"),
        (-500, math.inf, 1000, "interval -50.0 % and more"),
        (990_000, 1_010_000, 1000, "interval 99,000.0 % to 101,000.0 %"),
    ],
)
def test_intervals_that_say_nothing_are_open(low: float, high: float, base: int, expected: str) -> None:
    diff = (low + high) / 2 if high < math.inf else 0
    one = MetricShift("idle", "ns", base, round(base + diff), diff, low, high, "means")
    [result] = judge([growth_limit("idle>3%")], [one])
    assert expected in result.message
    assert json.loads(json.dumps(one.to_json(), allow_nan=False))["high"] == (high if high < math.inf else None)


def test_growth_from_nothing() -> None:
    [result] = judge([growth_limit("exposed_comm > 5 %")], [shifted(50, 10, 0, "exposed_comm")])
    assert result.failed
    assert "from nothing" in result.message


def test_a_cause_that_neither_side_has_is_kept() -> None:
    [result] = judge([growth_limit("idle.data_wait>5%")], [shifted(0, 0, name="idle")])
    assert not result.failed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step_time", "is no gate"),
        ("step_time<3%", "is no gate"),
        ("step_time>3", "is no gate"),
        ("steptime>3%", "no metric is called 'steptime'; did you mean step_time"),
        ("idle.weather>3%", "no metric is called 'idle.weather'"),
    ],
)
def test_wrong_gates_are_one_sentence(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        growth_limit(text)


def test_a_metric_that_is_not_recorded_is_no_pass() -> None:
    with pytest.raises(UserError, match="do not tell peak_memory of both sides"):
        judge([growth_limit("peak_memory>3%")], [shifted(0, 0)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("gates")
    for name, scale in (("base", 20.0), ("new", 30.0)):
        simulate(SimJob(steps=6, model="mlp", layers=2, compute_scale=scale, noise=0.02), found / name)
    return found


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)

    def called(*arguments: str) -> tuple[int, str, str]:
        status = run([*arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def test_exit_status_of_gates(call: Call) -> None:
    gates = ("--fail-on", "step_time>3%", "--fail-on", "exposed_copy>50%")
    status, _, err = call("compare", "base", "new", "--no-findings", *gates)
    assert status == 1
    assert "failed: step_time>3%" in err
    assert "passed: exposed_copy>50%" in err
    assert call("compare", "new", "base", "--no-findings", "--fail-on", "step_time>3%")[0] == 0
    assert call("compare", "base", "base", "--no-findings", "--fail-on", "step_time>0%")[0] == 0
    assert call("compare", "base", "new", "--fail-on", "speed")[0] == 2


def test_a_baseline_stands_for_its_recording(call: Call, folder: Path) -> None:
    assert call("baseline", "save", "base", "-o", "baseline.json")[0] == 0
    status, out, err = call("baseline", "check", "baseline.json", "new", "--json", "-")
    document = json.loads(out)
    assert (status, document["verdict"], document["gates"][0]["failed"]) == (1, "slower", True)
    assert "failed: step_time>3%" in err
    whole = json.loads(call("compare", "base", "new", "--no-findings", "--json", "-")[1])
    assert document["step_time"] == whole["step_time"]
    assert document["metrics"] == whole["metrics"]
    status, out, _ = call("baseline", "check", "baseline.json", "base")
    assert status == 0
    assert "same: " in out


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "stepscope.baseline/1"}', "\x00\xff"])
def test_what_is_no_baseline(call: Call, folder: Path, content: str) -> None:
    (folder / "other.json").write_text(content, encoding="utf-8")
    status, out, err = call("baseline", "check", "other.json", "base")
    assert (status, out) == (2, "")
    assert "other.json is no baseline" in err


def test_growth_is_a_share_of_the_base() -> None:
    [result] = judge([growth_limit("step_time>3%")], [shifted(50, 10)])
    assert "5.0 %" in result.message
    assert "from nothing" not in result.message
