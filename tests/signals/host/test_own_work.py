from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.host.own_work import Doing, before_new_kernels, others_awaited, own_work, own_work_share
from support import Facts

MS = 1_000_000


def between(*events: tuple[str, str, int, int], samples: tuple[str, ...] = (), then: str = "gemm") -> Signals:
    """A kernel, 100 ms of other work, and another kernel.

    Args:
        events: Category, name, start and length in ms of events of the other work.
        samples: Stacks of samples of it, one per ms.
        then: The other kernel.
    """
    f = Facts()
    f.host("op", "aten::mm", 0, 1_000)
    f.kernel("gemm", 10_000, MS, launch=(0, 5_000))
    for category, name, start, length in events:
        f.host(category, name, start * MS, length * MS)
    f.kernel(then, 101 * MS + 10_000, 19 * MS - 10_000, launch=(101 * MS, 5_000))
    f.step(0, 0, 120 * MS)
    for number, stack in enumerate(samples):
        f.row("samples", ts=(2 + number) * MS, track=0, stack=stack)
    return Signals.of(f.trace())


def doing(*events: tuple[str, str, int, int]) -> Doing:
    return between(*events)(own_work)


def test_the_innermost_function_that_covers_half_is_named_with_its_parts() -> None:
    found = doing(
        ("python", "main.py(1): run", 1, 100),
        ("python", "server.py(9): schedule", 2, 90),
        ("python", "server.py(30): sort_requests", 3, 40),
        ("python", "<built-in function sorted>", 4, 30),
    )
    assert found.found.total == pytest.approx(100 * MS, rel=0.01)
    assert found.name == "server.py(9): schedule"
    assert [name for name, _ in found.parts] == ["server.py(9): schedule", "server.py(30): sort_requests"]
    assert [share for _, share in found.parts] == pytest.approx([0.5, 0.4], abs=0.01)
    assert not found.prepares


@pytest.mark.parametrize("inner", ["<listcomp>", "<genexpr>", "<lambda>"])
def test_a_function_without_a_name_is_part_of_the_one_around_it(inner: str) -> None:
    found = doing(("python", "text.py(4): tokenise", 2, 98), ("python", f"text.py(5): {inner}", 3, 96))
    assert found.name == "text.py(4): tokenise"
    assert found.prepares


@pytest.mark.parametrize("recorded", ["<built-in function sleep>", "$time sleep"])
@pytest.mark.parametrize(("length", "sleeps"), [(52, True), (48, False)])
def test_who_pauses_is_named_and_that_it_is_a_pause(length: int, sleeps: bool, recorded: str) -> None:
    found = doing(("python", "train.py(4): poll", 2, 98), ("python", recorded, 3, length))
    assert found.name == "train.py(4): poll"
    assert "time.sleep" in [name for name, _ in found.parts]
    assert found.sleeps == sleeps


@pytest.mark.parametrize(("length", "counts"), [(20_100, True), (19_900, False)])
def test_events_from_a_5000th_of_the_time_on_count(length: int, counts: bool) -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 1_000)
    f.kernel("gemm", 10_000, MS, launch=(0, 5_000))
    for number in range(2_500):
        f.host("python", "loop.py(2): tick", 2 * MS + number * 30_000, length)
    f.kernel("gemm", 101_010_000, 19 * MS - 10_000, launch=(101 * MS, 5_000))
    f.step(0, 0, 120 * MS)
    found = Signals.of(f.trace())(own_work)
    assert bool(found.parts) is counts


def test_functions_that_turn_input_into_batches_prepare() -> None:
    assert doing(("python", "transformers/image_transforms.py(390): normalize", 2, 90)).prepares
    assert doing(("python", "pipeline.py(4): preprocess", 2, 90)).prepares
    assert not doing(("python", "train.py(4): evaluate", 2, 90)).prepares


@pytest.mark.parametrize(
    ("name", "prepares"),
    [
        ("nvidia/dali/plugin/pytorch.py(230): __next__", True),
        ("tf.data.Iterator.next", True),
        ("get_batch", True),
        ("batch-generator", True),
        ("data_loading", True),
        ("sampling rollout", False),
        ("scheduler.py(1200): get_next_batch_to_run", False),
        ("process_batch_result", False),
    ],
)
def test_loops_of_other_frameworks_name_their_input_otherwise(name: str, prepares: bool) -> None:
    category = "python" if "(" in name else "annotation"
    assert doing((category, name, 2, 90)).prepares is prepares


@pytest.mark.parametrize(("length", "prepares"), [(36, True), (34, False)])
def test_a_range_of_input_tells_of_all_the_time_only_if_it_is_much_of_it(length: int, prepares: bool) -> None:
    assert doing(("annotation", "preprocess", 1, length)).prepares is prepares


def test_a_server_that_fills_its_batch_does_not_prepare_input() -> None:
    assert not doing(("annotation", "gpu_model_runner: preprocess", 1, 90)).prepares
    assert doing(("annotation", "preprocess", 1, 90)).prepares


def test_ranges_tell_where_there_are_no_stacks_and_calls_where_there_are_no_ranges() -> None:
    assert doing(("annotation", "beam search", 2, 90), ("other", "ioctl", 3, 80)).name == "beam search"
    assert doing(("other", "ioctl", 3, 80)).name == "ioctl"
    assert (doing().name, doing().parts) == ("", ())


@pytest.mark.parametrize(("known", "name"), [(30, "generate"), (90, "reward.py(4): verify")])
def test_ranges_tell_the_rest_where_functions_are_recorded_in_a_part_of_it(known: int, name: str) -> None:
    found = doing(
        ("annotation", "generate", 1, 99 - known),
        ("annotation", "reward", 100 - known, known),
        ("python", "reward.py(4): verify", 100 - known, known),
    )
    assert found.name == name
    assert ("reward.py(4): verify", pytest.approx(known / 100, abs=0.01)) in (*found.parts, *found.beside)


def test_samples_name_the_function_of_a_thread_that_runs() -> None:
    stacks = ("libm.so;assemble;solve;main;_start",) * 60 + ("solve;main;_start",) * 30
    found = between(("other", "write", 3, 2), samples=stacks)(own_work)
    assert found.name == "assemble"
    assert found.parts == (("libm.so", pytest.approx(2 / 3)), ("solve", pytest.approx(1 / 3)))


def test_samples_name_a_function_whose_parts_are_all_small() -> None:
    stacks = tuple(f"kernel{number % 20};solve;main;_start" for number in range(80))
    found = between(("other", "write", 3, 80), samples=stacks)(own_work)
    assert (found.name, found.parts) == ("solve", ())


def test_a_thread_that_seldom_runs_is_named_by_what_it_waits_in() -> None:
    stacks = ("read_input;main",) * 12
    assert between(("other", "read", 3, 80), samples=stacks)(own_work).name == "read"
    assert between(samples=stacks)(own_work).name == "read_input"
    assert between(samples=stacks[:5])(own_work).name == ""


def test_waiting_for_a_person_is_no_work() -> None:
    assert doing(("other", "getc", 2, 90)).found.total < 11 * MS


def test_kernels_that_none_before_was_like_are_new() -> None:
    assert between(then="triton_poi_fused_0")(before_new_kernels)
    assert not between()(before_new_kernels)


def test_it_is_a_share_of_the_step() -> None:
    assert between()(own_work_share) == pytest.approx(100 / 120, rel=0.01)


def test_functions_beside_the_named_one_are_told_apart_from_its_parts() -> None:
    found = doing(
        ("python", "pipeline.py(1): run", 1, 100),
        ("python", "processor.py(9): preprocess_image", 2, 60),
        ("python", "transforms.py(3): normalize", 3, 40),
        ("python", "video.py(4): read", 65, 30),
    )
    assert found.name == "processor.py(9): preprocess_image"
    assert [name for name, _ in found.parts] == ["transforms.py(3): normalize", "processor.py(9): preprocess_image"]
    assert found.beside == (("video.py(4): read", pytest.approx(0.3, abs=0.01)),)
    assert found.parts[0][1] == pytest.approx(0.4, abs=0.01)


def test_a_function_of_many_short_calls_counts_with_all_of_them() -> None:
    calls = [("python", "transforms.py(9): rescale", 2 + number, 1) for number in range(0, 90, 2)]
    found = doing(("python", "processor.py(9): preprocess_image", 2, 90), *calls)
    assert dict(found.parts)["transforms.py(9): rescale"] == pytest.approx(0.45, abs=0.01)


def test_waits_for_somebody_else_are_apart_from_the_host_s_own_work() -> None:
    s = between(("other", "poll", 10, 60), ("other", "read", 75, 10))
    assert s(others_awaited).found.total == pytest.approx(60 * MS, rel=0.01)
    assert s(others_awaited).name == "poll"
    assert s(own_work).found.total == pytest.approx(40 * MS, rel=0.05)
