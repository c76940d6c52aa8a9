"""`stepscope plan` as users call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.cli.main import run
from stepscope.demo import recording
from support import shared

FIXED = [
    "--devices", "384", "--device", "a100-80gb", "--tp", "4", "--pp", "12", "--dp", "8", "--micro-batch", "2",
    "--global-batch", "2048", "--seq", "2048", "--recompute", "full", "--zero", "1",
]  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"layers": 70, "hidden": 14336, "heads": 112, "vocab": 250880}))
    return path


def called(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run(["plan", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def judged(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    status, out, err = called(capsys, *arguments, "--json", "-")
    assert (status, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    assert document["schema"] == "stepscope.plan/1"
    return document


def test_one_layout_is_judged(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (plan,) = judged(capsys, model, *FIXED)["plans"]
    assert (plan["tp"], plan["pp"], plan["dp"], plan["micro_batch"], plan["zero"]) == (4, 12, 8, 2, 1)
    assert (plan["fits"], plan["tight"]) == (True, False)
    assert plan["memory_bytes"] == sum(plan["parts"]["memory_bytes"].values())
    assert plan["step_ns"] == sum(plan["parts"]["step_ns"].values())
    assert 100 < plan["tflops_per_device"] < 200
    assert plan["reasons"]


def test_what_does_not_fit_is_judged_too_and_answered_with_what_would(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = ["none" if one == "full" else one for one in FIXED]
    document = judged(capsys, model, *changed, "--no-flash")
    (plan,) = document["plans"]
    assert not plan["fits"]
    assert any("recomputing all layers" in one for one in document["remedies"])


def test_the_best_plans_fit_and_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    document = judged(capsys, "llama3-8b", "--devices", 8, "--device", "h100", "--seq", 8192, "--global-batch", 128)
    plans = document["plans"]
    assert len(plans) > 1
    assert all(plan["fits"] for plan in plans)
    assert all(plan["devices"] == 8 for plan in plans)
    assert plans[0]["step_ns"] <= 1.02 * min(plan["step_ns"] for plan in plans)
    assert document["neighbours"]
    assert {"megatron", "torchtitan"} <= set(document["settings"])


def test_a_small_model_needs_no_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    (best, *_) = judged(capsys, "qwen3-0.6b", "--devices", 4, "--device", "910b", "--global-batch", 64)["plans"]
    assert (best["tp"], best["pp"]) == (1, 1)
    assert any("no pipeline" in reason for reason in best["reasons"])


def test_the_impossible_says_what_would_make_it_possible(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = called(capsys, "llama3-405b", "--devices", 8, "--device", "a100-80gb", "--global-batch", 64)
    assert status == 2
    assert "nothing fits" in err
    assert "What would make it possible" in out
    assert "devices of the same kind would do" in out


@pytest.mark.parametrize("name", ["megatron", "mindspeed", "torchtitan", "fsdp2", "deepspeed"])
def test_settings_are_printed_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = called(
        capsys, "llama3-8b", "--devices", 8, "--device", "a100", "--tp", 1, "--pp", 1, "--micro-batch", 1, "--zero", 3,
        "--recompute", "full", "--settings", name,
    )  # fmt: skip
    assert (status, err) == (0, "")
    needed = {
        "megatron": "--recompute-granularity full", "mindspeed": "export HCCL_BUFFSIZE=", "torchtitan": 'mode = "full"',
        "fsdp2": "fully_shard(layer", "deepspeed": '"stage": 3',
    }  # fmt: skip
    assert needed[name] in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fsdp2", "fsdp2 has no settings for the groups of the best plan; choose from megatron"),
        ("fsdp3", "there are no settings for 'fsdp3'; did you mean fsdp2"),
    ],
)
def test_settings_that_there_are_not(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = ("--tp", 2, "--pp", 2, "--micro-batch", 1)
    status, out, err = called(capsys, "llama3-8b", "--devices", 8, "--device", "h100", *fixed, "--settings", name)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["llama3-8b"], "--devices"),
        (["--devices", "8", "--device", "a100"], "MODEL"),
        (["llama3-8b", "--devices", "8", "--device", "a1"], "a1"),
        (
            ["llama3-8b", "--devices", "8", "--device", "a100", "--tp", "3", "--pp", "1", "--micro-batch", "1"],
            "devices",
        ),
        (["llama3-8b", "--devices", "8", "--device", "a100", "--zero", "7"], "ZeRO"),
        (["llama3-8b", "--devices", "8", "--device", "a100", "--recompute", "perhaps"], "recomputation"),
        (["llama3-8b", "--devices", "0", "--device", "a100"], "at least 1"),
    ],
)
def test_wrong_use_is_one_sentence(arguments: list[str], needed: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, "")
    assert needed in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("written", "kind", "layers"),
    [
        ("none", "none", 0), ("full", "full", 0), ("selective", "selective", 0), ("16", "layers", 16),
        ("50%", "layers", 16), ("selective layer", "layers", 16), ("selective op", "operators", 0), ("32", "full", 0),
    ],
)  # fmt: skip
def test_spellings_of_recomputation(written: str, kind: str, layers: int, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = ["--devices", "8", "--device", "h100", "--tp", "1", "--pp", "1", "--micro-batch", "1", "--zero", "1"]
    (plan,) = judged(capsys, "llama3-8b", *fixed, "--recompute", written)["plans"]
    assert (plan["recompute"], plan["recomputed_layers"]) == (kind, layers)


def test_a_recording_calibrates(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    fixed = ["--devices", "8", "--device", "h100", "--tp", "1", "--pp", "1", "--micro-batch", "1", "--zero", "1"]
    with recording() as path:
        document = judged(capsys, "llama3-8b", *fixed, "--calibrate", path)
        started = judged(capsys, "llama3-8b", "--from", path, "--devices", "8", "--global-batch", "64")
    said = " ".join(document["device"]["calibrated"])
    # The demo's GEMMs do 8.17 and 2.47 TFLOP in 12.44 and 3.73 ms.
    assert "658 TFLOP/s" in said
    assert "the host issues a kernel" in said
    plain = judged(capsys, "llama3-8b", *fixed)
    assert document["plans"][0]["step_ns"] != plain["plans"][0]["step_ns"]
    assert started["device"]["name"] == "H100-SXM5-80GB"
    assert started["device"]["calibrated"] == document["device"]["calibrated"]


def test_the_pipeline_recording_of_a_small_model_needs_none(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    path = shared("cases", "ascend", "qwen3_pp2dp2_level2")
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    document = judged(capsys, "qwen3-0.6b", "--from", path, "--device", "910b", "--global-batch", "64")
    assert document["devices"] == 4
    assert document["plans"][0]["pp"] == 1
    assert any("needs no pipeline" in one for one in document["remarks"])
    assert any("bus bandwidth" in one for one in document["device"]["calibrated"])


def test_a_recording_that_tells_no_rate_is_refused(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    path.write_text(json.dumps({"traceEvents": [event]}))
    status, _, err = called(capsys, "llama3-8b", "--devices", 8, "--device", "h100", "--calibrate", path)
    assert status == 2
    assert "no rate of the machine" in err


def test_the_same_in_python(model: Path) -> None:
    found = stepscope.plan(model, devices=384, device="a100-80gb", tp=4, pp=12, micro_batch=2, global_batch=2048,
                           seq=2048, recompute="full", zero=1)  # fmt: skip
    (plan,) = found.plans
    assert plan.layout.dp == 8
    assert plan.memory.fits


def test_pages_show_memory_and_pipeline(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = called(capsys, model, *FIXED)
    assert status == 0
    for heading in ("Plans", "Why", "Memory of the fullest device", "Time of a step", "Pipeline", "One choice away"):
        assert f"{heading} " in out
    assert "stage  7 .......FBBFBB" in out
