"""Parts of a snapshot's peak, on small snapshots with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from readers.memsnapshot.snapshots import MIB, History, block, frame, segment, snapshot, trace_of
from stepscope.signals import Signals
from stepscope.signals.signal import Signal
from stepscope.signals.snapshots.generations import Superseded, superseded
from stepscope.signals.snapshots.peak_makeup import makeup, trains
from stepscope.signals.snapshots.peak_parts import (
    PeakPart,
    brief,
    kept_by_forward,
    math_attention,
    scores,
    weight_copies,
)

ATTENTION = [frame("softmax", "/home/me/nn_utils.py", 6), frame("attention", "/home/me/model.py", 30)]
SCORES = [frame("attention", "/home/me/model.py", 28)]
LINEAR = [frame("forward", "/home/me/linear.py", 15)]
EXIT = [frame("__exit__", "/v/site-packages/torch/amp/autocast_mode.py", 390), frame("run", "/home/me/infer.py", 9)]
BACKWARD = [frame("torch::autograd::generated::DivBackward0::apply(int)", "", 0),
            frame("torch::autograd::Engine::evaluate_function(int)", "", 0)]  # fmt: skip


def told(folder: Path, wanted: Signal[Any], history: History, segments: list[dict[str, Any]] | None = None) -> Any:
    with trace_of(folder, snapshot(segments or [], history)) as trace:
        return Signals.of(trace)(wanted)


def many(history: History, count: int = 70) -> History:
    """Other things that the allocator does."""
    for _ in range(count):
        history.alloc(1 << 40, 512, "other").free(1 << 40, 512)
    return history


def lines(part: PeakPart | None) -> list[tuple[str, int, int]]:
    assert part is not None
    return [(one.name, one.bytes // MIB, one.count) for one in part.lines]


def test_score_matrices_are_those_of_softmax_in_attention_and_of_its_shapes(tmp_path: Path) -> None:
    history = History().alloc(0, 8 * MIB, frames=ATTENTION).alloc(1 << 30, 4 * MIB, frames=SCORES)
    history.alloc(2 << 30, 3 * MIB, frames=SCORES).alloc(3 << 30, 8 * MIB, frames=LINEAR)
    many(history).alloc(4 << 30, 8 * MIB, frames=BACKWARD).free(4 << 30, 8 * MIB)
    part = told(tmp_path, scores, history)
    assert lines(part) == [
        ("/home/me/nn_utils.py(6): softmax", 8, 1), ("DivBackward0", 8, 1), ("/home/me/model.py(28): attention", 4, 1),
    ]  # fmt: skip
    assert (part.bytes, part.peak // MIB, part.without // MIB) == (20 * MIB, 31, 11)


def test_softmax_outside_attention_and_folders_called_after_it_are_none(tmp_path: Path) -> None:
    history = History().alloc(0, 8 * MIB, frames=[frame("softmax", "/home/me/attention/loss.py", 6)])
    assert told(tmp_path, scores, history) is None


def test_separate_gemms_of_the_library_are_told(tmp_path: Path) -> None:
    compiled = frame("at::native::_scaled_dot_product_attention_math(at::Tensor const&)", "Functions.cpp", 0)
    assert told(tmp_path, math_attention, History().alloc(0, MIB, frames=[compiled, *LINEAR])) is True
    assert told(tmp_path, math_attention, History().alloc(0, MIB, frames=LINEAR)) is False


def test_copies_of_weights_are_freed_where_autocast_ends(tmp_path: Path) -> None:
    history = History()
    for place in range(3):
        history.alloc(place << 30, 2 * MIB, frames=LINEAR)
    history.alloc(9 << 30, MIB, frames=LINEAR).free(9 << 30, MIB)
    for place in range(3):
        history.add("free_requested", place << 30, 2 * MIB, frames=EXIT).add("free_completed", place << 30, 2 * MIB)
    part = told(tmp_path, weight_copies, history)
    assert (part.bytes, part.count, part.peak, part.without) == (6 * MIB, 3, 7 * MIB, MIB)
    assert told(tmp_path, weight_copies, History().alloc(0, MIB).free(0, MIB)) is None


def purposes(folder: Path, history: History, segments: list[dict[str, Any]] | None = None) -> dict[str, int]:
    held = told(folder, makeup, history, segments).purposes
    return {one.name: one.bytes // MIB for one in held if one.bytes >= MIB}


def test_a_server_s_cache_is_no_parameter(tmp_path: Path) -> None:
    cache = [frame("_allocate_kv_cache", "/home/me/cache_engine.py", 80), frame("__init__", "/home/me/worker.py", 9)]
    assert purposes(tmp_path, History().alloc(1 << 30, 4 * MIB, frames=cache)) == {"KV cache": 4}


def test_copies_of_weights_are_no_activations_of_the_peak(tmp_path: Path) -> None:
    history = History().alloc(1 << 30, 2 * MIB, frames=LINEAR).alloc(2 << 30, 3 * MIB, frames=LINEAR)
    history = many(history)
    history.add("free_requested", 1 << 30, 2 * MIB, frames=EXIT).add("free_completed", 1 << 30, 2 * MIB)
    assert purposes(tmp_path, history) == {"activations": 3, "weights cast by autocast": 2}


def test_an_optimizer_that_replaces_parameters_holds_them_too(tmp_path: Path) -> None:
    step = [frame("step", "/home/me/optimizer/adam.py", 51)]
    history = History().alloc(1 << 30, 4 * MIB, frames=step)
    assert purposes(tmp_path, history) == {"parameters and optimizer state": 4}
    old = [segment(0, [block(5 * MIB, "active_allocated")])]
    assert purposes(tmp_path, history, old) == {"older than the recording": 5, "optimizer state": 4}


def test_lines_whose_blocks_are_of_one_size_have_no_largest(tmp_path: Path) -> None:
    history = History().alloc(1 << 30, 2 * MIB, frames=LINEAR).alloc(2 << 30, 2 * MIB, frames=LINEAR)
    assert told(tmp_path, makeup, history).lines[0].text.endswith("4.00 MiB (2 × 2.00 MiB)")
    history.alloc(3 << 30, MIB, frames=LINEAR)
    assert told(tmp_path, makeup, history).lines[0].text.endswith("5.00 MiB (3 × up to 2.00 MiB)")


def test_what_lives_briefly_and_the_peak_without_it(tmp_path: Path) -> None:
    history = many(History().alloc(0, 2 * MIB, "kept"))
    history.alloc(1 << 30, 8 * MIB, "update").free(1 << 30, 8 * MIB)
    part = told(tmp_path, brief, history)
    assert lines(part) == [("/home/me/train.py(1): update", 8, 1)]
    assert (part.peak, part.without) == (10 * MIB, 2 * MIB + 512)


def test_the_peak_without_what_lives_briefly_is_not_lower_by_what_lives_longer(tmp_path: Path) -> None:
    history = History().alloc(0, 16 * MIB, "main").alloc(1 << 30, 8 * MIB, "step").alloc(2 << 30, 8 * MIB, "step")
    many(history.free(2 << 30, 8 * MIB), 40).free(1 << 30, 8 * MIB)
    part = told(tmp_path, brief, history)
    assert (part.bytes, part.peak, part.without) == (8 * MIB, 32 * MIB, 24 * MIB)


def test_what_forward_passes_keep(tmp_path: Path) -> None:
    history = History().alloc(0, 4 * MIB, "main").alloc(1 << 30, 8 * MIB, frames=LINEAR)
    many(history).alloc(2 << 30, 2 * MIB, frames=LINEAR).free(2 << 30, 2 * MIB)
    part = told(tmp_path, kept_by_forward, history)
    assert (part.bytes, part.count, part.peak, part.without) == (8 * MIB, 1, 14 * MIB, 6 * MIB)
    assert told(tmp_path, kept_by_forward, History().alloc(0, MIB, "main")) is None


def test_the_peak_by_purpose_and_line(tmp_path: Path) -> None:
    history = History().alloc(1 << 30, 4 * MIB, frames=LINEAR).alloc(2 << 30, MIB, frames=BACKWARD)
    old = segment(0, [block(5 * MIB, "active_allocated")])
    held = told(tmp_path, makeup, history, [old])
    assert [(one.name, one.bytes // MIB) for one in held.purposes] == [
        ("older than the recording", 5), ("activations", 4), ("gradients", 1)
    ]  # fmt: skip
    assert held.by_purpose() == "older than the recording 50.0 %, activations 40.0 %, gradients 10.0 %"
    assert held.by_line() == "me/linear.py:15 (forward) 4.00 MiB"
    assert held.share("activations", "gradients") == 0.5
    assert told(tmp_path, trains, history) is True
    assert told(tmp_path, trains, History().alloc(0, MIB, frames=LINEAR)) is False


def test_a_generation_that_is_let_go_of_when_the_next_is_there(tmp_path: Path) -> None:
    history = History()
    for place in range(4):
        history.alloc(place << 30, 2 * MIB, frames=LINEAR)
    for place in range(4, 8):
        history.alloc(place << 30, 2 * MIB, frames=LINEAR)
    for place in range(4):
        history.add("free_requested", place << 30, 2 * MIB, "main").add("free_completed", place << 30, 2 * MIB)
    expected = Superseded(8 * MIB, 4, 8 * MIB, 16 * MIB, "/home/me/train.py(1): main", 1.0, older=False)
    assert told(tmp_path, superseded, history) == expected


def test_what_is_freed_one_by_one_or_by_several_lines_is_no_generation(tmp_path: Path) -> None:
    history = History()
    for place in range(8):
        history.alloc(place << 30, 2 * MIB, frames=LINEAR)
    for place in range(4):
        history.free(place << 30, 2 * MIB).alloc(9 << 30, 512, "other").free(9 << 30, 512)
    found = told(tmp_path, superseded, history)
    assert (found.count, found.older) == (1, False)  # the first block of the history is no older than it
    assert told(tmp_path, superseded, History().alloc(0, MIB, "main")) is None
