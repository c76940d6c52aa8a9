"""Changes in words: which events they mean, and which words mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.whatif.changes import change_of, launched_within
from stepscope.analyses.stepgraph.whatif.predictions import ceilings
from stepscope.model.errors import UserError
from stepscope.model.events.change import EVERY_HOST_EVENT, Change
from stepscope.model.trace import Trace
from support import Facts

US = 1000


@pytest.fixture(scope="module")
def known() -> tuple[Trace, dict[str, int]]:
    """A step with one event of every kind that words can mean, by name."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    event: dict[str, int] = {}
    event["loader"] = f.host("dataloader", "enumerate(DataLoader)#_Multi", 0, 100 * US)
    event["op"] = f.host("op", "aten::gelu", 100 * US, 100 * US)
    event["gelu"] = f.kernel("vectorized_gelu", 150 * US, 20 * US, launch=(110 * US, 10 * US), kind="compute")
    event["launch"] = event["gelu"] - 1
    event["gemm"] = f.kernel("ampere_bf16_s16816gemm_bf16_128x64", 250 * US, 40 * US, launch=(210 * US, 10 * US))
    event["comm"] = f.kernel("ncclDevKernel_AllReduce", 300 * US, 50 * US, launch=(220 * US, 10 * US), stream="20")
    f.row("collectives", event=event["comm"], group="0", collective="all_reduce", bytes=1024)
    event["copying"] = f.host("op", "aten::copy_", 390 * US, 60 * US)
    event["copy"] = f.kernel("Memcpy HtoD", 400 * US, 20 * US, launch=(391 * US, 34 * US), kind="copy")
    f.row("copies", event=event["copy"], direction="HtoD", bytes=1, src_kind="pageable", dst_kind="device")
    event["copy call"] = event["copy"] - 1
    event["sync after copy"] = f.host("sync", "cudaStreamSynchronize", 430 * US, 5 * US)
    event["malloc"] = f.host("runtime", "cudaMalloc", 500 * US, 50 * US)
    event["gc"] = f.host("gc", "Python GC", 600 * US, 50 * US)
    event["overhead"] = f.host("overhead", "Activity Buffer Request", 700 * US, 50 * US, thread="profiler")
    event["sync"] = f.host("sync", "cudaDeviceSynchronize", 800 * US, 100 * US)
    return f.trace(), event


def meant(change: Change) -> dict[str, Any]:
    """Events of a change, as plain lists."""
    return {
        "device": {part.factor: part.events.tolist() for part in change.device},
        "host": {part.factor: part.events.tolist() for part in change.host},
        "unblocked": change.unblocked.tolist(),
        "overlapped": change.overlapped.tolist(),
    }


NOTHING = {"device": {}, "host": {}, "unblocked": [], "overlapped": []}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kernel", ["gelu", "gemm"]),
        ("kernel:gemm", ["gemm"]),
        ("kernel:*gelu*", ["gelu"]),
        ("copy", ["copy"]),
        ("copy:HtoD", ["copy"]),
        ("comm", ["comm"]),
        ("comm:all_reduce", ["comm"]),
    ],
)
def test_words_for_the_device(known: tuple[Trace, dict[str, int]], text: str, names: list[str]) -> None:
    trace, event = known
    expected = sorted(event[name] for name in names)
    assert meant(change_of(trace, scale=[f"{text}=0.25"])) == {**NOTHING, "device": {0.25: expected}}
    assert meant(change_of(trace, remove=[text])) == {**NOTHING, "device": {0.0: expected}}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("host:aten::*", ["op", "copying"]),
        ("launch", ["launch", "gemm launch", "comm launch", "copy call"]),
        ("data_wait", ["loader"]),
        ("gc", ["gc"]),
        ("profiler", ["overhead"]),
    ],
)
def test_words_for_the_host(known: tuple[Trace, dict[str, int]], text: str, names: list[str]) -> None:
    trace, event = known
    event = {**event, "gemm launch": event["gemm"] - 1, "comm launch": event["comm"] - 1}
    expected = sorted(event[name] for name in names)
    assert meant(change_of(trace, scale=[f"{text}=2"])) == {**NOTHING, "host": {2.0: expected}}


def test_the_whole_host(known: tuple[Trace, dict[str, int]]) -> None:
    found = change_of(known[0], scale=["host=0.5"])
    assert meant(found) == {**NOTHING, "host": {0.5: EVERY_HOST_EVENT.tolist()}}


def test_operators_are_scaled_on_both_sides(known: tuple[Trace, dict[str, int]]) -> None:
    trace, event = known
    found = meant(change_of(trace, scale=["op:aten::gelu=0.5"]))
    assert found == {**NOTHING, "host": {0.5: [event["op"]]}, "device": {0.5: [event["gelu"]]}}
    assert launched_within(trace, EVERY_HOST_EVENT).size == 0


def test_allocations_that_are_not_made_do_not_wait(known: tuple[Trace, dict[str, int]]) -> None:
    trace, event = known
    found = meant(change_of(trace, remove=["allocation"]))
    assert found == {**NOTHING, "host": {0.0: [event["malloc"]]}, "unblocked": [event["malloc"]]}


def test_synchronisation_can_be_removed_altogether_or_by_name(known: tuple[Trace, dict[str, int]]) -> None:
    trace, event = known
    all_ = sorted((event["sync"], event["sync after copy"], event["copy call"]))
    assert meant(change_of(trace, remove=["sync"])) == {**NOTHING, "unblocked": all_}
    assert meant(change_of(trace, remove=["sync:*Device*"])) == {**NOTHING, "unblocked": [event["sync"]]}


def test_communication_and_copies_can_be_overlapped(known: tuple[Trace, dict[str, int]]) -> None:
    trace, event = known
    found = meant(change_of(trace, overlap=["comm", "copy:HtoD"]))
    assert found == {**NOTHING, "overlapped": sorted((event["comm"], event["copy"]))}


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("scale", "kernel:gemm", "no change"),
        ("scale", "kernel:gemm=fast", "no change"),
        ("scale", "kernel=-1", "no change"),
        ("scale", "kernel=nan", "no change"),
        ("scale", "kernel=inf", "no change"),
        ("scale", "sync=0.5", "nothing is called 'sync'"),
        ("scale", "kernels=0.5", "nothing is called 'kernels'"),
        ("remove", "everything", "nothing is called 'everything'"),
        ("remove", "kernel:attention", "the recording has no 'kernel:attention'"),
        ("remove", "sync:hip*", "the recording has no 'sync:hip\\*'"),
        ("overlap", "kernel", "can't be overlapped"),
        ("overlap", "comm:broadcast", "the recording has no"),
    ],
)
def test_words_that_mean_nothing(known: tuple[Trace, dict[str, int]], option: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        change_of(known[0], **{option: [text]})


def test_ceilings_name_what_the_recording_has_the_most_telling_first(known: tuple[Trace, dict[str, int]]) -> None:
    found = ceilings(known[0])
    savings = [prediction.saved_ns for _, prediction in found]
    assert savings == sorted(savings, reverse=True)
    names = {name for name, _ in found}
    assert {"--remove host", "--remove kernel:gemm", "--overlap comm", "--remove gc"} <= names
    assert "--remove kernel:attention" not in names
    graph = StepGraph.of(known[0])
    assert dict(found)["--remove gc"] == graph.predict(change_of(known[0], remove=["gc"]))
