from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.rules.engine import diagnose
from stepscope.rules.finding import Finding
from stepscope.rules.settings import Settings
from stepscope.signals import Signals
from stepscope.signals.host.between_operators import BetweenOperators, between_operators
from stepscope.signals.host.marked_parts import MarkedParts, marked_parts
from stepscope.signals.host.own_work import Doing
from stepscope.signals.recording import recording
from support import Facts

MS = 1_000_000


def given(length: int, steps: int, *parts: tuple[str, int]) -> dict[object, object]:
    return {marked_parts: MarkedParts(length * MS, steps, parts), recording.profiler: "nsight"}


def test_the_largest_part_is_named_with_its_time_per_step() -> None:
    (draft,) = drafts("HST015", given(1000, 10, ("find", 560 * MS), ("forward", 140 * MS), ("head", 20 * MS)))
    assert figures(draft.summary) == ["100 ms", "14.0 %", "56.0 %", "56.0 ms"]
    assert (draft.cost_ns, draft.taken_ns) == (None, 56 * MS)
    assert "cuda,nvtx,osrt" in draft.actions[0].after


def test_of_many_parts_none_is_named() -> None:
    assert drafts("HST015", given(1000, 10, ("find", 299 * MS))) == []
    assert len(drafts("HST015", given(1000, 0, ("find", 300 * MS)))) == 1
    assert drafts("HST015", given(1000, 10)) == []


def ranges() -> Facts:
    """Four iterations of 100 ms, 70 of which are one range, and 20 of these another one inside it."""
    facts = Facts()
    for number in range(4):
        at = number * 100 * MS
        facts.host("annotation", "step", at, 100 * MS)
        facts.host("annotation", "solve", at, 70 * MS)
        facts.host("annotation", "inner", at + 10 * MS, 20 * MS)
    return facts


def test_the_time_of_a_range_is_without_that_of_ranges_inside() -> None:
    (finding,) = findings("HST015", ranges().trace(reader="nsight"))
    assert {"100 ms", "20.0 %", "30.0 %", "50.0 %", "50.0 ms"} <= set(figures(finding.summary))


def test_where_more_than_ranges_is_recorded_the_rule_abstains() -> None:
    facts = ranges()
    facts.kernel("k", 10, 5, launch=(0, 5))
    assert findings("HST015", facts.trace()) == []
    with pytest.raises(MissingInputError):
        drafts("HST015", {})


def test_collectives_of_a_library_are_not_parts_that_the_program_marked() -> None:
    facts = Facts()
    for number in range(4):
        gloo = facts.host("annotation", "gloo:all_reduce", number * 100 * MS, 80 * MS)
        facts.row("collectives", event=gloo, collective="all_reduce")
    assert findings("HST015", facts.trace()) == []


@pytest.mark.parametrize(("reader", "count"), [("nsight", 1), ("memsnapshot", 0)])
def test_ranges_of_memory_snapshots_say_nothing_of_time(reader: str, count: int) -> None:
    facts = Facts()
    facts.host("annotation", "Optimizer.step", 0, 9 * MS)
    facts.host("annotation", "end", 9 * MS, MS)
    signals = Signals.of(facts.trace(reader=reader))
    assert (signals.maybe(marked_parts) is not None) == count


def between(*events: tuple[str, str, int, int], ms: int = 50, steps: int = 0) -> Facts:
    """An operator of 10 ms, so many ms without any, and another operator; or steps of these."""
    facts = Facts()
    for number in range(max(steps, 1)):
        at = number * (20 + ms) * MS
        facts.host("op", "aten::mm", at, 10 * MS)
        facts.host("op", "aten::relu", at + (10 + ms) * MS, 10 * MS)
        if steps:
            facts.step(number, at, (20 + ms) * MS)
    for category, name, start, length in events:
        facts.host(category, name, start * MS, length * MS)
    return facts


def told(facts: Facts) -> list[Finding]:
    return findings("HST015", facts.trace(reader="kineto"))


@pytest.mark.parametrize(
    ("events", "name", "word"),
    [
        ([], "does not show", "py-spy"),
        ([("annotation", "download", 11, 48)], "download", "mmap=True"),
        ([("annotation", "environment", 11, 48)], "environment", "prepare()"),
        ([("python", "torch/serialization.py(1183): _save", 11, 48)], "_save", "async_save"),
        ([("python", "torch/serialization.py(1183): _load", 11, 48)], "_load", "mmap=True"),
        ([("python", "data.py(3): load_image", 11, 48)], "load_image", "pool.map"),
        ([("python", "queue.py(154): get", 11, 48)], "waits there for another thread", "Process("),
        ([("python", "lib/queue.py(154): get_size", 11, 48)], "get_size", "prepare()"),
        ([("python", "asyncio/selectors.py(451): select", 11, 48)], "for a connection", "coming.result()"),
        (
            [
                ("python", "train.py(3): fetch", 11, 48),
                ("python", "<built-in method recv of socket object at 0x7f>", 12, 40),
            ],
            "for a connection",
            "coming.result()",
        ),
        (
            [
                ("python", "train.py(3): wait_for", 11, 48),
                ("python", "<built-in method acquire of _thread.lock object at 0x7f>", 12, 40),
            ],
            "for another thread",
            "Process(",
        ),
        (
            [("python", "train.py(3): f", 11, 48), ("python", "<built-in method recv of socket>", 12, 20)],
            "f",
            "prepare()",
        ),
    ],
)
def test_what_no_operator_does_is_named_with_what_fits_by_its_wording(
    events: list[tuple[str, str, int, int]], name: str, word: str
) -> None:
    (finding,) = told(between(*events))
    assert {"50.0 ms", "71.4 %"} <= set(figures(finding.summary))
    assert name in finding.summary
    assert any(word in action.after for action in finding.actions)
    assert finding.placed_as_ns == 50 * MS


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("torch/profiler/profiler.py(1150): step", 0),
        ("lib/torch/autograd/profiler.py(918): __enter__", 0),
        ("torch/profiler/profiler.py(9): stepping", 1),
        ("train/profiler.py(1150): step", 1),
    ],
)
def test_what_the_profiler_does_is_not_the_work_of_the_program(name: str, number: int) -> None:
    assert len(told(between(("python", name, 11, 48)))) == number


@pytest.mark.parametrize(("ms", "word"), [(26, "micro-batch"), (24, "prepare()")])
def test_what_ranks_exchange_through_the_host_is_no_work_of_the_program(ms: int, word: str) -> None:
    facts = between(("python", "autograd/graph.py(966): _engine_run_backward", 11, 48))
    facts.host("annotation", "gloo:all_reduce", 12 * MS, ms * MS, thread="gloo")
    (finding,) = told(facts)
    assert ("52.0 %" in figures(finding.summary)) == (ms > 25)
    assert any(word in action.after for action in finding.actions)


@pytest.mark.parametrize(("of_pairs", "word"), [(20, "irecv"), (19, "bucket")])
def test_what_one_rank_sends_to_another_is_no_reduction_of_gradients(of_pairs: int, word: str) -> None:
    facts = between(("op", "c10d::recv_", 10, 50), ("op", "AddmmBackward0", 60, 1))
    facts.host("annotation", "gloo:recv", 12 * MS, of_pairs * MS, thread="gloo")
    facts.host("annotation", "gloo:all_reduce", 32 * MS, 20 * MS, thread="gloo")
    (finding,) = told(facts)
    assert {"50.0 ms", "71.4 %"} <= set(figures(finding.summary))
    assert word in finding.actions[0].after


def test_what_ranks_exchange_and_what_one_does_alone_are_two_findings() -> None:
    doing = Doing(Intervals(np.array([0]), np.array([50 * MS])))
    keys = [
        drafts("HST015", {between_operators: BetweenOperators(doing, 70 * MS, 1, exchange=share)})[0].key
        for share in (0.5, 0.49)
    ]
    assert keys[0] != keys[1]


@pytest.mark.parametrize(("ms", "first"), [(40, "HST005"), (10, "HST015")])
def test_what_stops_the_host_by_name_is_its_cause_where_it_takes_most(ms: int, first: str) -> None:
    facts = between(*(("gc", "Garbage collection", 11 + 70 * step, ms) for step in range(4)), steps=4)
    found = diagnose(facts.trace(reader="kineto"), Settings(), strict=True).findings
    by_code = {one.code: one for one in found}
    assert next(one.code for one in found if one.shown) == first
    assert bool(by_code["HST005"].symptoms) == (first == "HST005")


def test_where_a_device_is_named_it_may_be_waited_for_by_its_wording() -> None:
    facts = Facts()
    for at in (0, 60 * MS):
        facts.host("op", "aten::relu", at, 10 * MS)
    facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    (finding,) = told(facts)
    assert "It may wait there for a device" in finding.summary
    assert all("may wait" not in one.summary for one in told(between()))


def test_three_tenths_of_a_recording_or_a_step_and_ten_milliseconds_decide() -> None:
    assert len(told(between(ms=10))) == 1
    assert told(between(ms=9)) == []
    assert len(told(between(ms=10, steps=4))) == 1
    assert told(between(ms=8, steps=4)) == []


def test_loading_compiling_and_waiting_for_a_device_are_no_other_work() -> None:
    loader = ("dataloader", "enumerate(DataLoader)#_X.__next__", 10, 50)
    assert told(between(loader)) == []
    assert told(between(("op", "aten::cudnn_convolution", 0, 1))) == []
    assert told(between(("op", "Torch-Compiled Region: 0/0", 10, 50))) == []
    assert told(between(("annotation", "## backward ##", 10, 50))) == []
    assert told(between(("op", "aten::_local_scalar_dense", 1, 1))) == []
