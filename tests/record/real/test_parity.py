"""The API as the installed torch has it."""

from __future__ import annotations

import importlib.util
import inspect
import json
from pathlib import Path

import pytest

from record_support import HAS_TORCH
from stepscope.record.api import parity

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


@pytest.mark.parametrize("call", [call for call in parity.CALLS if call != "ExperimentalConfig"])
def test_the_table_names_the_parameters_of_torch(call: str) -> None:
    import torch.profiler

    source = torch.profiler if hasattr(torch.profiler, call) else torch.profiler.profiler
    parameters = set(inspect.signature(getattr(source, call)).parameters)
    assert parameters == {name for name, kinds in parity.CALLS[call].items() if "torch" in kinds}


def test_the_table_names_the_experimental_options_of_torch() -> None:
    from torch._C import _profiler

    for name, kinds in parity.EXPERIMENTAL.items():
        value = {"profiler_metrics": [], "performance_events": [], "custom_profiler_config": ""}.get(name, False)
        if "torch" in kinds:
            _profiler._ExperimentalConfig(**{name: value})
        else:
            with pytest.raises(TypeError):
                _profiler._ExperimentalConfig(**{name: value})


def test_actions_are_those_of_torch_at_every_step() -> None:
    import torch.profiler

    from stepscope import profiler

    for arguments in (
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 2, "active": 3, "repeat": 2, "skip_first": 3},
        {"wait": 5, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
    ):
        ours, theirs = profiler.schedule(**arguments), torch.profiler.schedule(**arguments)
        assert [ours(step).name for step in range(40)] == [theirs(step).name for step in range(40)]


def test_a_scheduled_recording(tmp_path: Path) -> None:
    import torch

    from stepscope import profiler
    from stepscope.ingest import Options, open_trace

    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), use_gzip=True),
        record_shapes=True,
        with_stack=True,
        experimental_config=profiler.ExperimentalConfig(record_python_gc_info=True),
    ) as one:
        for _ in range(6):
            torch.ones(4) + 1
            one.step()
    with open_trace(tmp_path, Options(cache=False)) as trace:
        assert [row["number"] for row in trace.rows("SELECT number FROM steps ORDER BY 1")] == [2, 3]
    stacks = tmp_path / "stacks.txt"
    one.export_stacks(str(stacks), "self_npu_time_total")
    assert stacks.exists()


def test_names_are_those_of_torch() -> None:
    import torch.profiler

    from stepscope import profiler

    assert {name for name in torch.profiler.__all__ if not hasattr(profiler, name)} == set()
    assert profiler.record_function is torch.profiler.record_function
    assert profiler.kineto_available() is True


def test_steps_asked_for_by_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from stepscope import profiler
    from stepscope.ingest import Options, open_trace
    from stepscope.record.api import dynamic_profile

    asked = {"activities": ["CPU", "NPU"], "active": 2, "warmup": 1, "prof_dir": str(tmp_path / "out")}
    (tmp_path / "asked.json").write_text(json.dumps({**asked, "metadata": {"run": 7}}))
    monkeypatch.setattr(dynamic_profile, "_state", {})
    profiler.dynamic_profile.init(str(tmp_path))
    profiler.dynamic_profile.start(str(tmp_path / "asked.json"))
    number = profiler.mstx.range_start("marked")
    for _ in range(4):
        profiler.mstx.mark("here")
        torch.ones(4) + 1
        profiler.dynamic_profile.step()
    profiler.mstx.range_end(number)
    with open_trace(tmp_path / "out", Options(cache=False)) as trace:
        assert trace.rows("SELECT count(*) AS n FROM steps")[0]["n"] == 2
        assert trace.rows("SELECT count(*) AS n FROM spans JOIN names USING (name_id) WHERE name = 'here'")[0]["n"] == 2


@pytest.mark.parametrize("name", ["_record_memory_history_impl", "_snapshot"])
def test_the_fake_allocator_takes_what_torch_takes(name: str) -> None:
    import torch.cuda

    path = Path(__file__).parents[1] / "fakes" / "torch" / "cuda" / "memory.py"
    spec = importlib.util.spec_from_file_location("fake_memory", path)
    assert spec is not None
    assert spec.loader is not None
    fake = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fake)
    theirs = inspect.signature(getattr(torch.cuda.memory, name)).parameters
    ours = inspect.signature(getattr(fake, name)).parameters
    assert {one: value.default for one, value in ours.items()} == {one: value.default for one, value in theirs.items()}
    assert list(inspect.signature(torch.cuda._lazy_call).parameters) == ["callable", "kwargs"]
