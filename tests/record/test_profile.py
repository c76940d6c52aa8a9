"""`stepscope.profile` on a GPU's profiler and on an NPU's, which refuse what the real ones lack."""

from __future__ import annotations

import gzip
import inspect
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from record_support import unload
from stepscope.model.errors import UserError
from stepscope.record.api import parity
from stepscope.record.api.backend import RecordingWarning
from stepscope.record.api.handlers import TraceHandler
from stepscope.record.api.schedules import schedule

pytestmark = pytest.mark.usefixtures("fakes")
ACTIONS = {"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}


def said(call: Any) -> tuple[Any, list[str]]:
    """What a call returns, and the sentences it says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, ".wrS.wrS.wrS"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, ".wrS........"),
        ({"wait": 0, "active": 1, "skip_first": 3, "repeat": 2}, "...SS......."),
        ({"wait": 3, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1}, "..wS...wS..."),
    ],
)
def test_a_schedule(arguments: dict[str, int], expected: str) -> None:
    made = schedule(**arguments)
    assert "".join(ACTIONS[made(step).name] for step in range(12)) == expected


def test_a_schedule_that_can_not_be() -> None:
    with pytest.raises(UserError, match="give active=1 or more"):
        schedule(wait=0, active=0)


def test_options_reach_torch() -> None:
    from stepscope import profiler

    one, sentences = said(
        lambda: profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=1, warmup=1, active=1, repeat=1),
            record_shapes=True, with_stack=True, acc_events=True,
            experimental_config=profiler.ExperimentalConfig(profile_all_threads=True, l2_cache=True),
        )
    )  # fmt: skip
    assert sentences == ["stepscope: experimental_config: l2_cache has no effect with torch.profiler."]
    given = one._native.given
    assert [activity.name for activity in given["activities"]] == ["CPU", "CUDA"]
    assert given["record_shapes"]
    assert given["acc_events"]
    assert given["experimental_config"].profile_all_threads
    one._native.step()
    assert one._native.said[0].name == "WARMUP"
    assert type(one._native.said[0]).__module__ == "torch.profiler"


def test_options_reach_an_npu(npu: None) -> None:
    from stepscope import profiler

    one, sentences = said(
        lambda: profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA],
            schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1, skip_first=10),
            use_cuda=True, acc_events=True,
            experimental_config=profiler.ExperimentalConfig(
                profiler_level=profiler.ProfilerLevel.Level1, aic_metrics=profiler.AiCMetrics.L2Cache,
                export_type=[profiler.ExportType.Db], l2_cache=True, verbose=True,
            ),
        )
    )  # fmt: skip
    assert sentences == [
        "stepscope: experimental_config: verbose has no effect with torch_npu.profiler.",
        "stepscope: acc_events has no effect with torch_npu.profiler.",
        "stepscope: use_cuda has no effect on an NPU; give activities with ProfilerActivity.NPU.",
    ]
    given = one._native.given
    assert [activity.name for activity in given["activities"]] == ["CPU", "NPU"]
    config = given["experimental_config"].given
    assert (config["profiler_level"], config["aic_metrics"]) == ("Level1", "ACL_AICORE_L2_CACHE")
    assert config["export_type"] == ["db"]
    assert one._native.schedule(10).__class__.__module__ == "torch_npu.profiler.profiler"


def test_every_value_of_an_npus_options(npu: None) -> None:
    from stepscope import profiler

    assert {one.name for one in profiler.supported_activities()} == {"CPU", "NPU"}
    assert {one.name for one in profiler.supported_profiler_level()} == {"Level0", "Level1", "Level2"}
    assert len(profiler.supported_ai_core_metrics()) == 8
    assert len(profiler.supported_export_type()) == 2
    for level in profiler.supported_profiler_level():
        made = profiler.profile(experimental_config=profiler.ExperimentalConfig(profiler_level=level))
        assert made._native.given["experimental_config"].given["profiler_level"] == level.name


def test_options_of_newer_versions(npu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope import profiler

    def made(**options: Any) -> tuple[dict[str, Any], list[str]]:
        config = profiler.ExperimentalConfig(**options)
        one, sentences = said(lambda: profiler.profile(experimental_config=config))
        return one._native.given["experimental_config"].given, sentences

    given, sentences = made(mstx=True, mstx_domain_include=["a"], host_sys=[profiler.HostSystem.DISK], sys_io=True)
    assert (given["mstx"], given["host_sys"], given["sys_io"], sentences) == (True, ["disk"], True, [])
    assert "mstx_domain_exclude needs mstx=True" in made(mstx_domain_exclude=["a"])[1][0]
    both = {"mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]}
    assert "no effect beside mstx_domain_include" in made(msprof_tx=True, **both)[1][0]

    class Older:
        def __init__(self, msprof_tx: bool = False) -> None:
            self.given = {"msprof_tx": msprof_tx}

    monkeypatch.setattr(sys.modules["torch_npu.profiler"], "_ExperimentalConfig", Older)
    given, sentences = made(mstx=True, sys_interconnection=True)
    assert given == {"msprof_tx": True}
    assert [one.split(",")[0] for one in sentences] == [
        "stepscope: experimental_config: sys_interconnection has no effect with this torch_npu"
    ]


def test_without_an_npu_there_are_no_levels() -> None:
    from stepscope import profiler

    assert profiler.supported_profiler_level() == set()


@pytest.mark.parametrize(
    ("options", "arguments", "sentence"),
    [
        ({}, {"wait": 1, "active": 1, "repeat": 1}, "warmup is 0"),
        ({}, {"wait": 1, "warmup": 1, "active": 1}, "repeat is 0: a recording is written every 3 steps"),
        (
            {"with_stack": True, "record_shapes": True},
            {"wait": 1, "warmup": 1, "active": 11, "repeat": 1},
            "over 11 steps",
        ),
        ({"with_flops": True}, {"wait": 1, "warmup": 1, "active": 1, "repeat": 1}, "with_flops needs shapes"),
        ({}, {"wait": 1, "warmup": 1, "active": 10**12, "repeat": 1}, "MiB left"),
    ],
)  # fmt: skip
def test_what_is_said_before_recording(options: dict[str, Any], arguments: dict[str, int], sentence: str) -> None:
    from stepscope import profiler

    _, sentences = said(lambda: profiler.profile(schedule=profiler.schedule(**arguments), **options))
    assert [one for one in sentences if sentence in one], sentences
    assert len(sentences) == 1


def test_an_npu_compiles_in_its_first_steps(npu: None) -> None:
    from stepscope import profiler

    _, sentences = said(lambda: profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=1, repeat=1)))
    assert ["give skip_first=10" in one for one in sentences] == [True]


def test_a_handler_writes_a_file_named_after_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope import profiler

    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler()) as one:
        pass
    [path] = (tmp_path / "profiling_data").iterdir()
    assert path.name.startswith("rank3_")
    assert path.name.endswith(".pt.trace.json")
    _, sentences = said(lambda: one.export_chrome_trace(str(tmp_path / "again.json")))
    assert "export_chrome_trace does nothing" in sentences[0]
    assert not (tmp_path / "again.json").exists()


def test_a_handler_compresses_and_names_as_told(tmp_path: Path) -> None:
    from stepscope import profiler

    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "worker0", True)):
        pass
    [path] = tmp_path.iterdir()
    assert path.name.startswith("worker0.")
    assert gzip.decompress(path.read_bytes()).startswith(b"{")


def test_a_handler_of_an_npu_is_its_own(npu: None, tmp_path: Path) -> None:
    from stepscope import profiler

    _, sentences = said(lambda: profiler.tensorboard_trace_handler(str(tmp_path), use_gzip=True))
    assert sentences == ["stepscope: use_gzip has no effect with torch_npu.profiler: it writes folders."]
    assert [(str(tmp_path), None, True, False)] == sys.modules["torch_npu.profiler.profiler"].HANDLERS


@pytest.mark.parametrize("metric", ["self_cpu_time_total", "self_cuda_time_total", "self_npu_time_total"])
def test_stacks_by_every_metric(metric: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    from stepscope import profiler

    path = tmp_path / "stacks"
    profiler.profile(with_stack=True).export_stacks(str(path), metric)
    assert path.read_text() == metric.replace("npu", "cuda")
    unload()
    request.getfixturevalue("npu")
    profiler.profile(with_stack=True).export_stacks(str(path), metric)
    assert path.read_text() == metric.replace("cuda", "npu")


def test_stacks_that_can_not_be(tmp_path: Path) -> None:
    from stepscope import profiler

    with pytest.raises(UserError, match="there is no metric time"):
        profiler.profile(with_stack=True).export_stacks(str(tmp_path / "s"), "time")
    _, sentences = said(lambda: profiler.profile().export_stacks(str(tmp_path / "s")))
    assert "give with_stack=True" in sentences[0]


def test_a_recording_from_start_to_stop(npu: None, tmp_path: Path) -> None:
    from stepscope import profiler

    one = profiler._KinetoProfile(record_shapes=True)
    one.start()
    one.add_metadata("key", "value")
    one.add_metadata_json("key", "1")
    one.stop()
    one.export_chrome_trace(str(tmp_path / "trace.json"))
    assert (tmp_path / "trace.json").exists()
    with pytest.raises(AttributeError, match=r"torch_npu\.profiler has no key_averages"):
        one.key_averages()


def test_what_only_one_profiler_has_is_its_own() -> None:
    from stepscope import profiler

    assert profiler.profile().key_averages() == "averages"


def test_an_option_of_neither() -> None:
    from stepscope import profiler

    with pytest.raises(TypeError, match="has an option 'colour'"):
        profiler.profile(colour=1)
    with pytest.raises(TypeError, match="experimental option 'colour'"):
        profiler.ExperimentalConfig(colour=1)
    with pytest.raises(UserError, match="this PyTorch has no XPU"):
        profiler.profile(activities=[profiler.ProfilerActivity.XPU])


@pytest.mark.parametrize("call", parity.CALLS)
def test_the_table_names_what_an_npus_profiler_documents(call: str, npu: None) -> None:
    import torch_npu.profiler as documented

    names = {"schedule": "Schedule", "ExperimentalConfig": "_ExperimentalConfig"}
    signature = inspect.signature(getattr(documented, names.get(call, call)))
    assert set(signature.parameters) == {name for name, kinds in parity.CALLS[call].items() if "npu" in kinds}


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    class Full:
        def export_chrome_trace(self, path: str) -> None:
            Path(f"{path}.tmp").write_text("{")

    handler = TraceHandler(tmp_path, "worker", packed=True)
    with pytest.warns(RecordingWarning, match="the recording was not written"):
        handler(Full())
    assert not list(tmp_path.iterdir())


def test_a_torch_npu_whose_handler_has_no_async_mode(npu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_npu.profiler  # type: ignore[import-not-found,unused-ignore]

    from stepscope import profiler

    def older(dir_name: object = None, worker_name: object = None, analyse_flag: bool = True) -> tuple[object, ...]:
        return dir_name, worker_name, analyse_flag

    monkeypatch.setattr(torch_npu.profiler, "tensorboard_trace_handler", older)
    assert profiler.tensorboard_trace_handler("out") == ("out", None, True)  # type: ignore[comparison-overlap]
    with pytest.warns(profiler.RecordingWarning, match="async_mode has no effect with this torch_npu"):
        profiler.tensorboard_trace_handler("out", async_mode=True)
