"""Steps of loops that nobody marked: optimizer, rounds of annotations, passes of a network, requests."""

from __future__ import annotations

import pytest

from stepscope.model.trace import Trace
from support import Facts

US = 1_000


def found(trace: Trace) -> list[tuple[str, int, int, str]]:
    rows = trace.rows("SELECT source, ts, dur, role FROM steps ORDER BY step")
    return [(row["source"], row["ts"], row["dur"], row["role"]) for row in rows]


def work(f: Facts, at: int, number: int, *, name: str = "k", thread: str = "1") -> None:
    """Launches 10 µs apart, each of a kernel of its own name."""
    for i in range(number):
        f.kernel(f"{name}{at}{i}", at + 5 * US + i * 10 * US, 4 * US, launch=(at + i * 10 * US, US), thread=thread)


def trained(f: Facts, iterations: int, optimizers: tuple[str, ...] = ("AdamW",)) -> None:
    """Iterations of 100 µs that end with the steps of optimizers; backward runs on a thread of its own."""
    for i in range(iterations):
        at = i * 100 * US
        work(f, at, 3)
        work(f, at + 40 * US, 3, thread="2")
        for position, name in enumerate(optimizers):
            f.host("annotation", f"Optimizer.step#{name}.step", at + (80 + 8 * position) * US, 7 * US)
            work(f, at + (81 + 8 * position) * US, 1)


def test_an_iteration_ends_with_the_optimizer() -> None:
    f = Facts()
    trained(f, 4)
    ends = [87 * US + i * 100 * US for i in range(4)]
    lengths = [87 * US, *[100 * US] * 3]
    starts = [0, *ends[:-1]]
    rows = found(f.trace())
    assert [row[:3] for row in rows] == [("annotation", at, dur) for at, dur in zip(starts, lengths, strict=True)]


def test_of_several_optimizers_the_last_one_ends_a_step() -> None:
    f = Facts()
    trained(f, 3, ("Discriminator", "Generator"))
    assert [at + dur for _, at, dur, _ in found(f.trace())] == [95 * US, 195 * US, 295 * US]


@pytest.mark.parametrize(
    ("passes", "ends"),
    [
        ([2, 3] * 3, [187, 387, 587]),  # discriminator and generator
        ([2, 3, 3] * 3, [287, 587, 887]),
        ([2, 3, 2, 3, 2, 2], [87, 187, 287, 387, 487, 587]),  # no rounds
        ([3] * 6, [87, 187, 287, 387, 487, 587]),
        ([2, 3] * 2, [87, 187, 287, 387]),  # too few rounds to tell
    ],
)
def test_models_that_take_turns_make_one_iteration(passes: list[int], ends: list[int]) -> None:
    f = Facts()
    trained(f, len(passes))
    for i, functions in enumerate(passes):
        for n in range(functions):
            at = (i * 100 + 40 + 5 * n) * US
            f.host("op", "autograd::engine::evaluate_function: MmBackward0", at, 4 * US, thread="2")
    assert [(at + dur) // US for _, at, dur, _ in found(f.trace())] == ends


def test_one_step_of_the_optimizer_is_no_loop() -> None:
    f = Facts()
    trained(f, 1)
    assert [row[0] for row in found(f.trace())] == ["whole"]


def rounds(f: Facts, number: int, names: tuple[str, ...], *, tail: int = 0) -> None:
    for i in range(number):
        at = i * 200 * US
        for position, name in enumerate(names):
            f.host("annotation", name, at + position * 50 * US, 45 * US)
            work(f, at + position * 50 * US, 3)
    work(f, number * 200 * US, tail)


@pytest.mark.parametrize(
    ("names", "number", "source"),
    [
        (("forward", "backward", "update weights"), 3, "annotation"),
        (("forward", "backward"), 2, "annotation"),
        (("load", "encode", "rank"), 2, "whole"),  # Two rounds may be anything.
        (("attention", "mlp"), 6, "whole"),  # Layers: nothing tells that each round is a call of the network.
    ],
)
def test_rounds_of_annotations_are_steps(names: tuple[str, ...], number: int, source: str) -> None:
    f = Facts()
    rounds(f, number, names)
    rows = found(f.trace())
    assert rows[0][0] == source
    assert source == "whole" or [row[1] for row in rows] == [i * 200 * US for i in range(number)]


@pytest.mark.parametrize(("others", "source", "length"), [(3, "round 0", 13_000), (2, "generate", 10_000)])
def test_a_part_with_nearly_all_launches_is_a_step_only_if_it_takes_most_of_the_time(
    others: int, source: str, length: int
) -> None:
    f = Facts()
    period = 10_000 + 1_000 * others
    for start in range(0, 4 * period, period):
        f.host("annotation", "generate", start, 10_000)
        for launch in range(20):
            f.kernel("decode", start + 400 * launch + 50, 90, launch=(start + 400 * launch, 10))
        f.host("annotation", "score", start + 10_000, 1_000 * (others - 1))
        f.host("annotation", "update", start + period - 1_000, 1_000)
        f.kernel("gemm", start + period - 900, 800, launch=(start + period - 950, 10))
    found = f.trace().rows("SELECT name, dur FROM steps ORDER BY ts LIMIT 1")
    assert (found[0]["name"], found[0]["dur"]) == (source, length)


def test_what_comes_after_the_last_round_shows_that_they_are_parts() -> None:
    f = Facts()
    rounds(f, 4, ("encode", "rank", "pick"), tail=40)
    assert found(f.trace())[0][0] == "whole"


def denoised(f: Facts, passes: int, *, module: str = "UNet_0", backward: bool = False) -> None:
    """One recorded step: a prompt is encoded, a network is called again and again, an image is decoded."""
    f.step(3, 0, (passes * 100 + 60) * US)
    f.host("module", "nn.Module: TextEncoder_0", 0, 20 * US)
    work(f, 0, 2)
    for i in range(passes):
        at = (30 + i * 100) * US
        f.host("module", f"nn.Module: {module}", at, 90 * US)
        for layer in range(4):
            f.host("module", f"nn.Module: Block_{layer}", at + (1 + layer * 20) * US, 19 * US)
            f.kernel(f"k{layer}", at + (12 + layer * 20) * US, 9 * US, launch=(at + (2 + layer * 20) * US, US))
    if backward:
        f.host("op", "MulBackward0", (passes * 100 + 40) * US, US)
    work(f, (passes * 100 + 35) * US, 1)


def test_passes_of_a_network_within_one_step_are_the_steps() -> None:
    f = Facts()
    denoised(f, 4)
    rows = found(f.trace())
    assert [row[:2] for row in rows] == [("passes", (30 + i * 100) * US) for i in range(4)]


@pytest.mark.parametrize(("passes", "backward"), [(2, False), (4, True)])
def test_two_passes_or_those_of_training_are_no_loop(passes: int, backward: bool) -> None:
    f = Facts()
    denoised(f, passes, backward=backward)
    assert [row[0] for row in found(f.trace())] == ["profiler"]


def served(f: Facts, number: int, *, every: int = 60, name: str = "Server::handleRequest") -> None:
    """Requests of 150 µs on three threads, one every 60 µs."""
    for i in range(number):
        at, thread = i * every * US, str(1 + i % 3)
        f.host("annotation", name, at, 150 * US, thread=thread)
        work(f, at + 10 * US, 3, thread=thread)


def test_requests_that_overlap_count_from_start_to_start() -> None:
    f = Facts()
    served(f, 6)
    rows = found(f.trace())
    assert [row[:3] for row in rows[:-1]] == [("requests", i * 60 * US, 60 * US) for i in range(5)]
    assert [row[3] for row in rows] == ["typical"] * 5 + ["partial"]


@pytest.mark.parametrize(("number", "every", "name"), [(4, 60, "handle"), (6, 160, "handle"), (6, 60, "fetch batch")])
def test_few_or_lonely_ranges_are_no_requests(number: int, every: int, name: str) -> None:
    f = Facts()
    served(f, number, every=every, name=name)
    assert "requests" not in {row[0] for row in found(f.trace())}


def test_layers_that_are_compiled_one_by_one_are_no_steps() -> None:
    def compiled(before: int) -> str:
        f = Facts()
        work(f, 0, before)
        for i in range(5):
            at = (100 + i * 100) * US
            f.host("annotation", "## Call CompiledFxGraph fabc ##", at, 90 * US)
            work(f, at, 8, name=f"k{i}")
        return str(found(f.trace())[0][0])

    assert (compiled(0), compiled(2)) == ("annotation", "whole")
