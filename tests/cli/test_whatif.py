"""`stepscope whatif` on a small recording of the simulator's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepscope.cli.main import run
from stepscope.simulate import SimJob, simulate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("whatif")
    simulate(SimJob(ranks=2, slow_rank=1, slow_factor=2.0, compute_scale=20.0), found / "job")
    return found


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))

    def called(*arguments: str) -> tuple[int, str, str]:
        status = run(["whatif", str(folder / "job"), *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def test_a_change_in_words(call) -> None:
    status, out, err = call("--scale", "kernel:gemm=0.5", "--remove", "data_wait")
    assert (status, err) == (0, "")
    assert "mean of 3 steps, rank 1 of 2." in out
    assert "\n--scale kernel:gemm=0.5 --remove data_wait  " in out
    assert "misses the recorded steps by 0.00 %" in out


def test_json_has_exact_times(call) -> None:
    status, out, _ = call("--scale", "kernel=0.5", "--rank", "0", "--json")
    assert status == 0
    document = json.loads(out)
    assert document["schema"] == "stepscope.whatif/1"
    assert (document["rank"], document["scale"], document["remove"]) == (0, ["kernel=0.5"], [])
    (change,) = document["changes"]
    assert change["saved_ns"] == change["base_ns"] - change["new_ns"] > 0
    assert change["gain_ceiling"] == change["base_ns"] / change["new_ns"] - 1
    assert change["steps"] == [1, 2, 3]


def test_without_a_change_it_lists_what_there_is_to_gain(call) -> None:
    status, out, _ = call()
    assert status == 0
    assert "--remove kernel:gemm" in out
    assert "--overlap comm" in out
    assert call("--json")[1].count('"change"') == out.count("\n--")


def test_wrong_use_is_one_sentence(call) -> None:
    status, out, err = call("--scale", "kernels=0.5")
    assert (status, out) == (2, "")
    assert err.startswith("stepscope: nothing is called 'kernels'; did you mean kernel.")
    assert call("--rank", "7")[2] == "stepscope: the input has no rank 7; it has 0, 1.\n"


def test_names_match_whole_or_in_part_and_brackets_are_themselves(call) -> None:
    whole = call("--remove", "op:aten::addmm")[1]
    part = call("--remove", "op:addm")[1]
    assert whole.splitlines()[3].split()[-8:] == part.splitlines()[3].split()[-8:]
    assert "the recording has no 'op:add[m]m'" in call("--remove", "op:add[m]m")[2]
    assert call("--remove", "op:*ddm?")[0] == 0
