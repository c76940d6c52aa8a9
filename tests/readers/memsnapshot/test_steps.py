"""Steps from PyTorch's own marks in a memory snapshot."""

from __future__ import annotations

from stepscope.readers.memsnapshot.annotations import AnnotatedRange, marked_steps

STEP, CLEAR = "Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def marks(*named: tuple[str, int]) -> list[AnnotatedRange]:
    """Stretches of 10 ns."""
    return [AnnotatedRange(name, 0, "dataloader" if name == LOADER else "annotation", ts, 10) for name, ts in named]


def bounds(*named: tuple[str, int], span: tuple[int, int] | None = (0, 1000)) -> list[tuple[int, int]]:
    return [(one.ts, one.ts + (one.dur or 0)) for one in marked_steps(marks(*named), span)]


def test_a_step_ends_where_the_optimizer_does() -> None:
    assert bounds((CLEAR, 100), (STEP, 200), (CLEAR, 220), (STEP, 300)) == [(100, 210), (210, 310)]
    assert bounds((STEP, 200)) == [(0, 210)]


def test_gradients_cleared_or_batches_fetched_begin_steps() -> None:
    assert bounds((CLEAR, 100), (LOADER, 120), (CLEAR, 300), (LOADER, 330)) == [(100, 300), (300, 1000)]
    assert bounds((LOADER, 120), (LOADER, 330)) == [(120, 330), (330, 1000)]


def test_of_several_optimizers_the_one_with_the_fewest_steps_counts() -> None:
    other = "Optimizer.step#SGD.step"
    assert bounds((other, 50), (STEP, 100), (other, 150), (other, 250), (STEP, 300)) == [(0, 110), (110, 310)]


def test_one_mark_without_a_step_tells_nothing() -> None:
    assert bounds((CLEAR, 100)) == []
    assert bounds((LOADER, 100)) == []
    assert bounds() == []
    assert bounds((STEP, 100), span=None) == []


def test_steps_that_the_program_marked_count_alone() -> None:
    marked = [AnnotatedRange("ProfilerStep#1", 0, "step", 0, 100), *marks((STEP, 50))]
    assert marked_steps(marked, (0, 1000)) == []
