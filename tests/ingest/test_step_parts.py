"""Steps of loops of which only forward, backward and optimizer are marked."""

from __future__ import annotations

import pytest

from support import Facts


def found(f: Facts) -> list[tuple[str, int, int]]:
    rows = f.trace().sql("SELECT source, ts, dur FROM steps ORDER BY step").to_pylist()
    return [(row["source"], row["ts"], row["dur"]) for row in rows]


def rounds(f: Facts, names: tuple[str, ...], times: int, at: int = 0) -> None:
    """Each part is a range of 100 ns with a launch; 20 ns lie between two rounds."""
    for number in range(times):
        for name in names:
            f.host("annotation", name.format(number), at, 100)
            f.kernel("gemm", at + 20, 60, launch=(at + 10, 5))
            at += 100
        at += 20


@pytest.mark.parametrize(
    "names",
    [
        ("forward", "backward", "optimizer"), ("Forward Pass {}", "Backward Pass {}", "Optimizer Step {}"),
        ("train_forward", "loss.backward", "opt"), ("fwd", "bwd", "AdamW"),
    ],
)  # fmt: skip
def test_a_step_reaches_from_one_forward_pass_to_the_next(names: tuple[str, ...]) -> None:
    f = Facts()
    rounds(f, names, 4)
    assert found(f) == [("annotation", 320 * i, 320 if i < 3 else 300) for i in range(4)]


def test_passes_that_are_followed_by_one_update_are_one_step() -> None:
    f = Facts()
    rounds(f, ("forward", "backward", "forward", "backward", "optimizer"), 3)
    assert found(f) == [("annotation", 520 * i, 520 if i < 2 else 500) for i in range(3)]


def test_a_pause_that_is_longer_than_the_parts_belongs_to_no_step() -> None:
    f = Facts()
    rounds(f, ("forward", "backward"), 3)
    rounds(f, ("forward", "backward"), 3, at=10_000)
    assert [(ts, dur) for _, ts, dur in found(f)] == [
        (0, 220), (220, 220), (440, 200), (10_000, 220), (10_220, 220), (10_440, 200),
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("layer 3 forward",), ("attention forward",), ("forward_hook of block",)])
def test_passes_through_layers_are_no_steps(names: tuple[str, ...]) -> None:
    f = Facts()
    rounds(f, names, 4)
    assert [source for source, *_ in found(f)] != ["annotation"] * 4


def test_two_rounds_are_steps_if_their_parts_are_those_of_training() -> None:
    f = Facts()
    rounds(f, ("forward", "backward"), 2)
    # The last round ends with the last launch.
    assert found(f) == [("annotation", 0, 220), ("annotation", 220, 115)]
    f = Facts()
    rounds(f, ("load", "solve"), 2)
    assert [source for source, *_ in found(f)] == ["whole"]


def test_ranges_beside_the_work_just_miss() -> None:
    f = Facts()
    rounds(f, ("forward",), 4)
    for number in range(8):
        f.kernel(f"other {number}", 5000 + 100 * number, 60, launch=(5000 + 100 * number, 5))
    assert "annotation" not in {source for source, *_ in found(f)}


def test_ranges_are_the_work_of_a_recording_that_holds_nothing_else() -> None:
    f = Facts()
    for number in range(4):
        f.host("annotation", "step", 1000 * number, 900)
        for part in range(3):
            f.host("annotation", f"part {part}", 1000 * number + 300 * part, 200)
    assert found(f) == [("annotation", 1000 * i, 900) for i in range(4)]


def test_compiled_programs_are_steps_by_the_name_of_what_they_run() -> None:
    f = Facts()
    for number in range(4):
        f.host("annotation", "TSL:XlaModule:#hlo_module=jit_train_step,program_id=33#", 1000 * number, 900)
        f.kernel("loop_add_fusion", 1000 * number + 100, 500, launch=(1000 * number + 50, 5))
    assert found(f) == [("annotation", 1000 * i, 900) for i in range(4)]


@pytest.mark.parametrize(("name", "length"), [("load batch", 820), ("validate", 200)])
def test_a_pause_in_which_a_batch_is_fetched_belongs_to_the_step(name: str, length: int) -> None:
    f = Facts()
    for number in range(4):
        rounds(f, ("forward", "backward"), 1, at=820 * number)
        f.host("annotation", name, 820 * number + 220, 600)
    assert found(f)[0][2] == length
