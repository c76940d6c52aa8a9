"""The guide: its tree is whole, every command on it runs, and recordings lead to the right setting."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.agents.opened import Recordings
from stepscope.agents.tools.guiding import GuideTools
from stepscope.cli.main import run
from stepscope.demo import recording
from stepscope.guide import text
from stepscope.guide.chinese import WORDS
from stepscope.guide.finding_place import place
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.guide.walk import walk
from stepscope.ingest import open_trace
from stepscope.language import speaking
from stepscope.model.errors import UserError
from stepscope.rules import remedies
from stepscope.rules.registry import all_rules
from stepscope.simulate import SimJob, simulate
from support import shared
from test_docs import DOCS, keep

COMMANDS = sorted({command for node in TREE for command in node.commands})


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A job with a loader and collectives, so that all tables can be computed."""
    folder = tmp_path_factory.mktemp("guide")
    simulate(SimJob(ranks=2, compute_scale=20.0), folder / "job", faults=("slow-loader",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
        yield folder / "job"


def test_the_tree_is_whole() -> None:
    assert set(WORDS) == set(BY_KEY)
    assert len(BY_KEY) == len(TREE)
    reached = {"start"} | {to for node in TREE for _, to in node.turns}
    assert reached == set(BY_KEY)
    assert {name for node in TREE for name in node.remedies} <= set(remedies.names())
    # Findings of every family have a place.
    assert {rule.family for rule in all_rules().values()} <= {family for node in TREE for family in node.families}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(command.replace("RECORDING", str(job)).replace("NEW", str(job)))
    assert program == "stepscope"
    assert run(arguments) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("symptom", "key"),
    [
        ("out of memory", "memory"), ("CUDA OOM after 300 steps", "memory"), ("slow on 64 cards", "cluster"),
        ("GPU at 40 %", "step"), ("does not scale", "communication"), ("one straggler", "cluster"),
        ("the DataLoader is slow", "data"), ("which layout for 64 devices", "layout"), ("low MFU", "compute"),
        ("NCCL timeout, then it hangs", "cluster"), ("the first step takes minutes", "scheduling"),
        ("训练慢", "start"), ("64卡训练慢", "cluster"), ("显存不足", "memory"), ("NPU 利用率低", "step"),
        ("通信未掩盖", "communication"), ("算子下发慢", "scheduling"),
        ("loss.item() everywhere", "scheduling"), ("data", "data"), ("pageable memory copies", "copies"),
    ],
)  # fmt: skip
def test_symptoms_lead_somewhere(symptom: str, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert place(symptom).key == key
    assert run(["guide", symptom]) == 0
    assert capsys.readouterr().out == text.page(BY_KEY[key]) + "\n"


def test_an_unknown_symptom_is_refused() -> None:
    with pytest.raises(UserError, match="nothing on"):
        place("xyzzy")


@pytest.mark.parametrize("path", ["trace.json.gz", "runs/a"])
def test_what_looks_like_a_path_does_not_exist(path: str) -> None:
    with pytest.raises(UserError, match=f"{path} does not exist"):
        place(path)


def test_without_a_symptom_it_starts_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guide"]) == 0
    assert capsys.readouterr().out.startswith(BY_KEY["start"].title)


def way(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """The places that a recording is led through, and all that is said."""
    assert run(["guide", str(path)]) == 0
    out = capsys.readouterr().out
    return [line.split("turns to ")[1].split(",")[0] for line in out.splitlines() if "turns to" in line], out


def test_the_demo_leads_to_the_loader(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    with recording() as path:
        found, out = way(path, capsys)
    assert found == ["step", "data"]
    assert "num_workers" in out


@pytest.mark.parametrize(
    ("fault", "scale", "places", "setting"),
    [
        ("item-sync", 1.0, ["step", "scheduling"], ".item()"),
        ("sync-every-op", 20.0, ["step", "scheduling"], ".item()"),
        ("slow-rank", 20.0, ["cluster"], "take the node out"),
        ("no-tensor-cores", 20.0, ["step", "compute"], "autocast"),
    ],
)
def test_simulated_jobs_lead_to_their_setting(
    fault: str, scale: float, places: list[str], setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    simulate(SimJob(ranks=2, compute_scale=scale), tmp_path / "job", faults=(fault,))
    found, out = way(tmp_path / "job", capsys)
    assert found == places
    assert setting in out
    assert f"stepscope compare {tmp_path / 'job'} NEW" in out


def test_a_small_finding_does_not_turn_away_from_the_largest_part() -> None:
    row = {"step": None, "total_ns": 100, "compute_ns": 30, "exposed_comm_ns": 60, "exposed_copy_ns": 0, "idle_ns": 10}
    found = walk([row], [], [])
    assert [turn.to.key for turn in found.turns] == ["step", "communication"]
    assert "60.0 %" in found.turns[-1].why


def test_a_host_alone_is_told_what_is_found_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    same = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "dur": 900}
    path = tmp_path / "host.json"
    path.write_text(json.dumps({"traceEvents": [{**same, "ts": 1000 * at} for at in range(400)]}))
    found, out = way(path, capsys)
    assert found == []
    assert "HST019 Operators on the host take most of the time" in out
    assert "its page: stepscope rules HST019" in out
    assert BY_KEY["start"].question in out


def test_parts_are_those_of_steps_as_findings_are() -> None:
    step = {"step": 0, "total_ns": 100, "compute_ns": 30, "exposed_comm_ns": 0, "exposed_copy_ns": 0, "idle_ns": 70}
    busy = {**step, "step": None, "total_ns": 31, "idle_ns": 1}
    waits = [{"step": 0, "cause": "data_wait", "total_ns": 60}, {"step": None, "cause": "data_wait", "total_ns": 1}]
    found = walk([busy, step], waits, [])
    assert found.end.key == "data"
    assert found.turns[-1].why == "data 60.0 %, compute 30.0 %, scheduling 10.0 %"


@pytest.mark.parametrize(
    ("path", "places", "setting"),
    [
        ("kineto/v100_resnet50_workers0", ["step", "data"], "num_workers"),
        ("nsys/lm_2_7b.sqlite", ["step", "compute"], "fused attention"),
        ("kineto/mi300_resnet_recompute_ddp8", ["step", "communication"], "send less"),
    ],
)
def test_real_recordings_lead_to_their_setting(
    path: str, places: list[str], setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    found, out = way(shared(path), capsys)
    assert found == places
    assert setting in out


def test_the_page_is_the_tree() -> None:
    keep(DOCS / "guide.md", "tree", text.markdown())


def test_the_page_in_chinese_is_the_tree() -> None:
    with speaking("zh"):
        keep(DOCS / "zh" / "guide.md", "tree", text.markdown())


def test_recordings_are_led_in_chinese(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lang", "zh", "guide", str(job)]) == 0
    out = capsys.readouterr().out
    assert "转到 step，因为没有起决定作用的 rank、链路或显存问题" in out
    assert "修改之后重新采集，并检查收益：" in out
    words = re.sub(r"stepscope [a-z]+ [\w-]+", "", out.replace(str(job), ""))
    assert re.findall(r"(?<![\w.:/\-`])[A-Za-z]?[a-z]+(?:,? [a-z]+){3}", words) == []


def test_agents_are_told_in_english() -> None:
    with speaking("zh"):
        assert GuideTools(Recordings([], open_trace)).guide("out of memory")["text"].startswith("Memory")
