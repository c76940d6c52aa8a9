"""What scripts import from torch.profiler and torch_npu besides `profile`: names, marks, requests, parsing."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope import profiler
from stepscope.record.api import dynamic_profile

pytestmark = pytest.mark.usefixtures("fakes")


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dynamic_profile, "_state", {})
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


@pytest.mark.parametrize("name", ["DeviceType", "ExecutionTraceObserver", "kineto_available", "record_function"])
def test_names_of_torch_are_its_own(name: str) -> None:
    import torch.profiler

    assert getattr(profiler, name) is getattr(torch.profiler, name)
    assert name in profiler.__all__


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(
        AttributeError, match=r"neither stepscope\.profiler nor torch\.profiler, as installed, has colour"
    ):
        _ = profiler.colour
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = profiler._colour


def recorded(work: Any) -> list[str]:
    import torch

    running = torch.profiler._KinetoProfile()
    running.start()
    work()
    running.stop()
    return [event["name"] for event in running.events]


def test_marks_and_ranges_without_an_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "AVAILABLE", True)
    monkeypatch.setattr(torch.cuda.nvtx, "calls", [])

    @profiler.mstx.mstx_range("whole")
    def work() -> None:
        first = profiler.mstx.range_start("first")
        second = profiler.mstx.range_start("second")
        profiler.mstx.range_end(first)
        profiler.mstx.mark("here")
        profiler.mstx.range_end(second)
        profiler.mstx.range_end(second)

    assert recorded(work) == ["first", "here", "second", "whole"]
    assert torch.cuda.nvtx.calls == [
        "start whole", "start first", "start second", "end 2", "mark here", "end 3", "end 1"
    ]  # fmt: skip
    with pytest.warns(profiler.RecordingWarning, match="domains have no effect without an NPU"):
        profiler.mstx.mark("here", domain="mine")


def test_marks_and_ranges_on_an_npu(npu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_npu  # type: ignore[import-not-found,unused-ignore]

    def work() -> list[Any]:
        monkeypatch.setattr(torch_npu.npu, "RANGES", [])
        profiler.mstx.mark("here", domain="mine")
        number = profiler.mstx.range_start("one", domain="mine")
        profiler.mstx.range_end(number, "mine")
        return list(torch_npu.npu.RANGES)

    assert work() == [("here", "mine"), ("one", "mine"), 2]
    monkeypatch.setattr(torch_npu.npu, "mstx", torch_npu.npu.older_mstx)
    with pytest.warns(profiler.RecordingWarning, match="domain has no effect with this torch_npu"):
        assert work() == ["here", "one", 2]


def request(folder: Path, **asked: Any) -> None:
    """Change the file of requests, and its time, however coarse the clock of the file system is."""
    path = folder / "profiler_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"prof_dir": str(folder / "out"), **asked}))
    later = path.stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(later, later))


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dynamic_profile, "_LOOK_S", 0.0)
    profiler.dynamic_profile.init(str(tmp_path))
    return tmp_path


def runs() -> bool:
    """Whether torch's profiler is at work after one more step."""
    import torch

    profiler.dynamic_profile.step()
    return torch.profiler.RUNNING is not None


def test_a_changed_file_asks_for_steps(requests: Path) -> None:
    assert not runs()
    request(requests, active=2, warmup=1, with_stack=True, experimental_config={"l2_cache": True, "verbose": True})
    assert [runs() for _ in range(5)] == [True, True, True, False, False]
    assert len(list((requests / "out").iterdir())) == 1
    request(requests, start_step=9, active=1, warmup=0)
    assert [runs() for _ in range(4)] == [False, False, True, False]


@pytest.mark.parametrize(
    ("asked", "recorded"), [(["CPU", "NPU"], ["CPU", "CUDA"]), (["cpu"], ["CPU"]), (["NPU"], ["CUDA"]), ([], None)]
)
def test_an_accelerator_means_the_one_that_is_there(
    asked: list[str], recorded: list[str] | None, requests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch.profiler

    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: set(torch.profiler.ProfilerActivity))
    request(requests, activities=asked)
    assert runs()
    given = torch.profiler.RUNNING.given["activities"]  # type: ignore[attr-defined,unused-ignore]
    assert (given and [one.name for one in given]) == recorded


def test_other_ranks_are_left_out(requests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    request(requests, is_rank=True, rank_list=[0, 1])
    assert not runs()
    request(requests, is_rank=True, rank_list=[3], warmup=0)
    assert runs()
    assert not runs()


@pytest.mark.parametrize(("text", "said"), [("{", "can't be read"), ("[]", "holds no JSON object")])
def test_a_broken_file_is_said_and_no_harm(text: str, said: str, requests: Path) -> None:
    request(requests)
    (requests / "profiler_config.json").write_text(text)
    with pytest.warns(profiler.RecordingWarning, match=said):
        assert not runs()


def test_a_start_by_the_program(requests: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"active": 1, "prof_dir": str(tmp_path / "out"), "metadata": {"run": 7}}))
    profiler.dynamic_profile.start(str(other))
    with pytest.warns(profiler.RecordingWarning, match="it records already"):
        profiler.dynamic_profile.start()
    assert not runs()
    [written] = (tmp_path / "out").iterdir()
    assert json.loads(written.read_text())["run"] == 7


def test_requests_are_torch_npus_own_on_an_npu(npu: None, tmp_path: Path) -> None:
    import torch_npu.profiler.dynamic_profile as native  # type: ignore[import-not-found,unused-ignore]

    with pytest.warns(profiler.RecordingWarning, match=r"before dynamic_profile\.init"):
        profiler.dynamic_profile.step()
    profiler.dynamic_profile.init(str(tmp_path))
    profiler.dynamic_profile.step()
    profiler.dynamic_profile.start("file")
    assert [f"init {tmp_path}", "step", "start file"] == native.CALLS


def test_recordings_of_torch_need_no_parsing(tmp_path: Path) -> None:
    with pytest.warns(profiler.RecordingWarning, match="need no parsing"):
        profiler.analyse(str(tmp_path))


def test_recordings_of_an_npu_are_parsed_as_is_asked_for(npu: None, tmp_path: Path) -> None:
    for name in ("one_1_ascend_pt", "broken_1_ascend_pt"):
        (tmp_path / name / "FRAMEWORK").mkdir(parents=True)
    profiler.analyse(str(tmp_path / "one_1_ascend_pt"), 1, profiler.ExportType.Db)
    assert (tmp_path / "one_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "how.txt").read_text() == "1 ['db']"
    with pytest.warns(profiler.RecordingWarning, match="broken_1_ascend_pt could not be parsed"):
        profiler.analyse(str(tmp_path / "broken_1_ascend_pt"))
