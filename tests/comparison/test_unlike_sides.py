"""What is said of sides that differ in more than their times, and what is left out for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.causes.sentence import sentence
from stepscope.comparison.comparable import RecordedDifference, _versions, differences, recorded_facts
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.model_shape import model_shape
from stepscope.comparison.result import Comparison
from stepscope.comparison.side import chosen_rank, side_of
from stepscope.comparison.summary import summary_of
from stepscope.comparison.verdict import step_times
from stepscope.ingest import Options, open_trace
from stepscope.jobs.compare import compare_inputs
from stepscope.model.errors import UserError
from stepscope.model.recording import TELLS_ROUNDING
from stepscope.model.trace import Trace
from stepscope.reports.blocks import Grid, Line
from stepscope.reports.compared.outline import comparable_lines, outline, recording_name
from stepscope.simulate import SimJob, simulate
from support import Facts

QUICK = CompareOptions(findings=False)


def program(weights: Sequence[list[int]] = (), steps: bool = True, device: bool = True) -> Trace:
    """Two steps that each call a linear layer for every weight, with a kernel each."""
    facts = Facts()
    for number in range(2):
        at = 1000 * number
        if steps:
            facts.step(number, at, 1000)
        for i, weight in enumerate(weights or [[4, 8]]):
            op = facts.host("op", "aten::linear", at + 100 * i, 50)
            facts.row("op_inputs", event=op, shapes=json.dumps([[2, weight[1]], weight]), dtypes='["float", "float"]')
            if device:
                facts.kernel("sgemm", at + 100 * i + 20, 40, launch=(at + 100 * i + 5, 5))
    return facts.trace(source=f"{weights} {steps} {device}")


def told(found: Comparison) -> dict[str, RecordedDifference]:
    return {one.what: one for one in found.comparable}


def test_layers_of_another_size_or_number_are_another_shape_of_the_model() -> None:
    small = program([[4, 8], [8, 4]])
    assert compare_traces(small, program([[8, 4], [4, 8]]), QUICK).comparable == ()
    wider = told(compare_traces(small, program([[4, 16], [16, 4]]), QUICK))["model shape"]
    assert (wider.base.split()[0], wider.base.split("largest ")[1]) == ("2", "8 x 4")
    assert (wider.new.split()[0], wider.new.split("largest ")[1]) == ("2", "16 x 4")
    assert told(compare_traces(small, program([[4, 8]]), QUICK))["model shape"].new.startswith("1 ")


@pytest.mark.parametrize(
    ("new", "size", "chosen"),
    [
        ((2, 7), 8, (7, 7)),
        ((0, 2), 8, (2, 2)),  # a part of the ranks: the same one on both sides, since ranks may have different work
        ((0, 2), 4, (7, 2)),
        ((0, 2), None, (7, 2)),
        ((8, 9), 8, (7, 9)),
    ],
)
def test_of_jobs_of_equal_size_the_same_rank_is_compared(monkeypatch, new, size, chosen) -> None:
    monkeypatch.setattr("stepscope.comparison.side.decisive_rank", lambda side: side.ranks[-1])
    sides = [
        SimpleNamespace(ranks=ranks, recordings={rank: SimpleNamespace(world_size=world) for rank in ranks})
        for ranks, world in ((tuple(range(8)), 8), (new, size))
    ]
    assert chosen_rank(*sides) == chosen


@pytest.mark.parametrize(
    ("steps", "device", "left"),
    [
        (False, True, {"overall", "times_per_call"}),
        (True, False, {"api", "times_per_call"}),
        (False, False, set()),
    ],
)
def test_steps_are_not_held_against_what_is_none(steps: bool, device: bool, left: set[str]) -> None:
    found = compare_traces(program(), program(steps=steps, device=device), QUICK)
    assert set(found.tables) == left
    assert found.parts == ()
    assert found.verdict == "inconclusive"
    assert {one.side for one in found.lacking if one.table == "step_parts"} == {"between"}
    blocks = [block for section in outline(found).sections for block in section.blocks]
    assert not [one for one in blocks if isinstance(one, Grid) and one.table == "step_parts"]
    assert sum(isinstance(one, Line) and one.text.startswith("times: ") for one in blocks) == 1


def test_an_unknown_fact_is_no_difference_of_work() -> None:
    known = {"batch": "32 images per step", "model shape": "8 calls", "data type": "fp32"}
    found = differences(known, dict.fromkeys(known, "unknown"))
    assert [(one.what, one.tone) for one in found] == [("batch", "info"), ("data type", "info")]
    assert len({one.effect for one in found}) == 1


@pytest.mark.parametrize(
    ("base", "new", "effect"),
    [
        ("1 × A100", "1 × H100", "faster or slower is about program and device together"),
        ("1 × unnamed device", "1 × H100", "one side does not tell it, so that it may differ"),
        ("1 × A100", "2 × unnamed device", "one side does not tell it, so that it may differ"),
    ],
)
def test_a_device_without_a_name_may_be_the_same(base: str, new: str, effect: str) -> None:
    [found] = differences({"devices": base}, {"devices": new})
    assert (found.effect, found.tone) == (effect, "info")


@pytest.mark.parametrize(
    ("new", "effect"),
    [
        ("fp32", "one side does not tell it, so that it may differ"),
        ("tf32", "one side does not tell it, so that it may differ"),
        ("bf16", "kernels compute with another precision"),
    ],
)
def test_fp32_that_may_be_rounded_is_no_other_data_type(new: str, effect: str) -> None:
    [found] = differences({"data type": "fp32, rounding unknown"}, {"data type": new})
    assert found.effect == effect
    times = step_times(*(summary_of(side_of(one, 0)) for one in (program(), program([[8, 8]] * 2))))
    assert "data type" not in sentence(times, (), (), (found,))


@pytest.mark.parametrize(
    ("told", "dtype", "expected"),
    [({}, "fp32", "fp32"), ({TELLS_ROUNDING: False}, "fp32", "fp32, rounding unknown"),
     ({TELLS_ROUNDING: False}, "bf16", "bf16")],
)  # fmt: skip
def test_whether_fp32_may_be_rounded_is_told_or_left_open(told: dict[str, bool], dtype: str, expected: str) -> None:
    facts = Facts()
    facts.step(0, 0, 1000)
    facts.kernel("aclnnMatmul_MatMulV2", 20, 300, launch=(5, 5), dtype=dtype)
    assert recorded_facts(side_of(facts.trace(attributes=told), 0))["data type"] == expected


@pytest.mark.parametrize(("steps", "held"), [(True, True), (False, False)])
def test_ranks_are_not_held_against_a_recording_without_steps(tmp_path: Path, steps: bool, held: bool) -> None:
    simulate(SimJob(ranks=2, steps=3, layers=1), tmp_path / "job")
    with open_trace(tmp_path / "job", Options(cache=False)) as job:
        found = compare_inputs(job, program(steps=steps), QUICK)
    assert ("job_worst" in found.tables) is held
    assert "the others wait" not in found.cause


def test_hosts_alone_without_steps_are_not_called_the_same() -> None:
    """Nothing is timed, and no peak of memory is known: that neither differs says nothing."""
    one, other = program(steps=False, device=False), program([[4, 8]] * 5, steps=False, device=False)
    found = compare_traces(one, other, QUICK)
    assert found.verdict == "inconclusive"
    assert found.step_time.reason == (
        "neither steps nor a device are known, so that nothing tells which side is faster"
    )
    asides = {str(one.title): str(one.aside) for one in outline(found).sections}
    assert "per step" not in asides["By phase"]


@pytest.mark.parametrize(
    ("level", "synchronises", "told_of"),
    [("Level0", False, "no"), ("Level1", False, None), ("Level0", True, None), (None, False, None)],
)
def test_no_cause_of_idleness_is_sure_where_one_side_lacks_the_calls_that_have_it(
    level: str | None, synchronises: bool, told_of: str | None
) -> None:
    """The base's profiler may have left out what the new side's wait is put down to; a new wait is sure else."""

    def waiting(wait: bool, **attributes: str) -> Trace:
        facts = Facts()
        for number in range(6):
            at = 1000 * number
            facts.step(number, at, 1000)
            facts.kernel("sgemm", at + 20, 300, launch=(at + 5, 5))
            if wait or synchronises:
                facts.host("sync", "cudaDeviceSynchronize", at + 12, 790 if wait else 1)
            facts.kernel("sgemm", at + 820, 100, launch=(at + 805, 5))
        return facts.trace(source=f"{wait}", attributes=attributes)

    base = waiting(False, **({"profiler_level": level} if level else {}))
    found = compare_traces(base, waiting(True, profiler_level="Level1"), QUICK)
    [one] = [part for part in found.parts if part.key == "idle.synchronisation"]
    assert (one.diff_ns > 0, one.sure) == (True, None if told_of else True)
    assert [one.base for one in found.comparable if one.what == "recorded: calls of the runtime"] == (
        [told_of] if told_of else []
    )
    assert ("surely" in found.cause) is (told_of is None)
    [cause] = [one for one in found.metrics if one.name == "idle.synchronisation"]
    [idle] = [one for one in found.metrics if one.name == "idle"]
    assert (cause.method == "untold", idle.method) == (bool(told_of), "identical")
    assert all((one.to_json()["low"] is None) is bool(told_of) for one in (cause,))
    if told_of:
        for gate in ("idle.synchronisation>3%", "idle.data_wait>3%"):
            with pytest.raises(UserError, match="one side lacks the calls of the runtime that idle"):
                judge([growth_limit(gate)], found.metrics)
    assert not judge([growth_limit("idle>3%")], found.metrics)[0].failed
    assert told_of or judge([growth_limit("idle.synchronisation>3%")], found.metrics)[0].failed


def test_versions_are_told_where_both_sides_have_them() -> None:
    known = {"cuda_runtime_version": 12040, "cuda_driver_version": 12020, "torch_npu_version": "2.1.0"}
    assert _versions(known) == "CUDA runtime 12.4, CUDA driver 12.2, torch_npu 2.1.0"
    assert _versions({}) == "unknown"
    assert differences({"versions": _versions(known)}, {"versions": "unknown"}) == ()
    [found] = differences({"versions": _versions(known)}, {"versions": "CUDA runtime 12.1"})
    assert (found.what, found.tone) == ("versions", "info")


def test_names_of_a_map_that_nothing_has_are_said() -> None:
    base, new = program(), program([[4, 4]])
    names = {"aten::linear": "aten::linear", "mylib::gone": "sgemm", "sgemm": "hgemm"}
    found = told(compare_traces(base, new, CompareOptions(findings=False, names=names)))
    assert {what: one.base for what, one in found.items() if what.startswith("names")} == {
        "names that the base lacks": "mylib::gone", "names that the new side lacks": "hgemm",
    }  # fmt: skip


def test_what_differs_in_the_same_way_is_one_line() -> None:
    same = [RecordedDifference(f"recorded: {one}", "no", "yes", "times are longer") for one in ("stacks", "memory")]
    lines = comparable_lines([*same, RecordedDifference("host", "a, b", "c", "load differs", "info")])
    assert [line.text for line in lines] == ["recorded: stacks, memory: base no, new yes", "host: base a, b; new c"]


@pytest.mark.parametrize(
    ("source", "other", "shown"),
    [
        ("/runs/a/trace.json", "/runs/b/trace.json", "a/trace.json"),
        ("/runs/a/trace.json", "/runs/a/trace.json", "a/trace.json"),
        ("/r/a/out/trace.json", "/r/b/out/trace.json", "a/out/trace.json"),
        ("/r/a/one/two/out/trace.json", "/r/b/one/two/out/trace.json", "a/…/trace.json"),
    ],
)
def test_names_of_recordings_tell_them_apart(source: str, other: str, shown: str) -> None:
    assert recording_name(source, other) == shown


def test_what_is_not_used_in_every_step_is_no_weight() -> None:
    facts = Facts()
    for number, weights in enumerate(([[4, 8], [90, 8]], [[4, 8], [70, 8]])):
        facts.step(number, 1000 * number, 1000)
        for i, weight in enumerate([*weights, [2, 4, 8]]):
            op = facts.host("op", "aten::linear", 1000 * number + 100 * i, 50)
            facts.row("op_inputs", event=op, shapes=json.dumps([[2, 8], weight]), dtypes="[]")
    trace = facts.trace()
    assert model_shape(trace, (0, 1)).startswith("1 calls on weights of 3.2e-05 M elements")
    assert model_shape(trace, ()) == "unknown"
