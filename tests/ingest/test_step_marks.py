"""Steps of loops that nobody marked, and marks that nobody ended."""

from __future__ import annotations

from stepscope.model.trace import Trace
from support import Facts

MS = 1_000_000
NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def found(trace: Trace) -> list[tuple[object, ...]]:
    return [(r["source"], r["ts"], r["dur"]) for r in trace.rows("SELECT source, ts, dur FROM steps ORDER BY step")]


def test_each_batch_of_the_loader_begins_an_iteration() -> None:
    f = Facts()
    for i in range(4):
        f.host("dataloader", NEXT, 100 * i, 10)
        f.host("op", f"aten::op{i}", 100 * i + 15, 30)
        f.kernel(f"k{i * i}", 100 * i + 30, 20, launch=(100 * i + 20, 5))
    trace = f.trace()
    assert found(trace) == [("annotation", 100 * i, 100 if i < 3 else 25) for i in range(4)]
    assert trace.rows("SELECT severity, count FROM health WHERE code = 'steps-loaded'") == [
        {"severity": "info", "count": 4}
    ]


def test_two_batches_are_no_loop() -> None:
    f = Facts()
    for i in range(2):
        f.host("dataloader", NEXT, 100 * i, 10)
        f.kernel(f"k{i}", 100 * i + 30, 20, launch=(100 * i + 20, 5))
    assert found(f.trace())[0][0] == "whole"


def test_a_step_that_nobody_ended_is_none() -> None:
    f = Facts()
    f.step(1, 0, 1000 * MS)
    f.host("op", "aten::mm", 0, 1000)
    f.kernel("k", 100, 20, launch=(20, 5))
    assert found(f.trace())[0][0] == "whole"


def test_a_step_may_end_with_what_nothing_records() -> None:
    f = Facts()
    f.step(1, 0, 1_000)
    f.kernel("k", 30, 20, launch=(20, 5))
    assert found(f.trace()) == [("profiler", 0, 1_000)]


def simulation(f: Facts, steps: int, *, grows: bool = False, swaps: bool = False) -> None:
    """A program that is not PyTorch's: set-up, a loop with copies, and a summary."""
    at = 0
    for i in range(20):
        f.kernel(f"init{i}", at, 10, launch=(at, 2))
        at += 20
    for i in range(steps):
        scale = 2**i if grows else 1
        order = "abcdef" if not swaps or i % 2 else "fedcba"
        for name in order:
            f.kernel(f"solve_{name}", at, 100 * scale, launch=(at, 2))
            at += 200 * scale
    f.kernel("summary", at, 10, launch=(at, 2))


def test_the_part_that_repeats_is_enough_where_the_program_is_no_network() -> None:
    f = Facts()
    simulation(f, 8)
    steps = found(f.trace())
    assert [step[0] for step in steps] == ["inferred"] * 8
    assert steps[0][1] == 400
    assert {step[2] for step in steps[:-1]} == {1200}


def test_directions_that_alternate_make_two_steps_of_one_period() -> None:
    f = Facts()
    simulation(f, 12, swaps=True)
    assert len(found(f.trace())) == 12


def test_a_sweep_over_ever_larger_data_has_no_steps() -> None:
    f = Facts()
    simulation(f, 8, grows=True)
    assert found(f.trace())[0][0] == "whole"


def test_one_kernel_between_copies_is_a_loop() -> None:
    f = Facts()
    for i in range(10):
        for k, (name, kind) in enumerate((("in", "copy"), ("in", "copy"), ("solve", None), ("out", "copy"))):
            f.kernel(name, 1000 * i + 200 * k, 150, launch=(1000 * i + 200 * k, 5), kind=kind)
    assert len(found(f.trace())) == 10


def batches(updates: list[bool]) -> Facts:
    """A loop over batches, some of which end with a step of the optimizer."""
    f = Facts()
    for i, update in enumerate(updates):
        f.host("dataloader", NEXT, 100 * i, 10)
        f.host("op", "aten::mm", 100 * i + 15, 30)
        f.kernel("k", 100 * i + 30, 20, launch=(100 * i + 20, 5))
        if update:
            f.host("annotation", "Optimizer.step#AdamW.step", 100 * i + 70, 20)
    return f


def test_accumulated_batches_are_one_step() -> None:
    steps = found(batches([False, False, False, True] * 3).trace())
    assert [dur for _, _, dur in steps] == [370, 400, 400]


def test_batches_of_an_evaluation_belong_to_the_step_that_they_follow() -> None:
    assert len(found(batches([True] * 3 + [False] * 9 + [True]).trace())) == 4


def test_an_update_that_is_skipped_or_the_only_one_leaves_batches_steps() -> None:
    assert len(found(batches([True] * 4 + [False] + [True] * 7).trace())) == 12
    assert len(found(batches([False] * 5 + [True]).trace())) == 6
