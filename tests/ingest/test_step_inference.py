"""The period of a sequence: steps are found whatever they consist of, layers are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.inference import SHORT_LENGTH, Cuts, after_setup, find_period, find_steps, inner_part

Names = NDArray[np.int64]

_HEAD, _TAIL = 100, 200


def model(layers: int, layer: int, head: int, tail: int) -> list[int]:
    """A step: what comes before its layers, the layers, what comes after them."""
    return [*range(_HEAD, _HEAD + head), *(list(range(layer)) * layers), *range(_TAIL, _TAIL + tail)]


def steps_of(names: list[int], pauses: tuple[int, ...] = ()) -> Cuts | None:
    gaps = np.full(len(names), 10, np.int64)
    gaps[list(pauses)] = 1000
    return find_steps(np.array(names, np.int64), gaps)


models = st.builds(model, st.integers(1, 24), st.integers(2, 12), st.integers(1, 6), st.integers(1, 20)).filter(
    lambda step: len(step) >= 8
)


@given(step=models, times=st.integers(3, 12))
@settings(deadline=None)
def test_whole_steps_are_found_exactly(step: list[int], times: int) -> None:
    found = steps_of(step * times)
    assert found is not None
    assert found.positions.tolist() == [i * len(step) for i in range(times)]
    assert not found.partial.any()


@given(step=models, times=st.integers(5, 10), data=st.data())
@settings(deadline=None)
def test_a_window_of_a_loop_has_partial_steps_at_its_ends(step: list[int], times: int, data: st.DataObject) -> None:
    size = len(step)
    low = data.draw(st.integers(1, size - 1))
    missing = data.draw(st.integers(1, size - 1).filter(lambda cut: (low + cut) % size > size // 50 + 1))
    names = (step * times)[low : len(step) * times - missing]
    if (low + missing) % size >= size - size // 50 - 1:
        return  # as good as whole steps
    starts = [i * size - low for i in range(1, times)]
    found = steps_of(names, tuple(starts))
    assert found is not None
    assert found.positions.tolist() == [0, *starts]
    assert found.partial[0]
    assert not found.partial[1:-1].any()
    assert found.partial[-1] == (missing > size // 50)


@given(step=models, repeats=st.integers(1, 2))
@settings(deadline=None)
def test_layers_of_one_or_two_steps_are_no_steps(step: list[int], repeats: int) -> None:
    assert steps_of(step * repeats) is None


@given(step=models.filter(lambda step: len(step) > 60), times=st.integers(4, 10), seed=st.integers(0, 1000))
@settings(deadline=None)
def test_odd_names_do_not_change_the_period(step: list[int], times: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    names = np.array(step * times, np.int64)
    odd = random.choice(names.size, names.size // 100, replace=False)
    names[odd] = random.integers(1000, 2000, odd.size)
    assert find_period(names) == len(step)


@given(st.lists(st.integers(0, 10**6), max_size=300, unique=True))
@settings(deadline=None)
def test_what_never_repeats_has_no_period(names: list[int]) -> None:
    assert find_period(np.array(names, np.int64)) is None


NOISE = st.lists(st.integers(0, 3), max_size=8)
#: Noise alone has no steps: most of these are a loop with something around it.
SEQUENCES = st.lists(st.integers(0, 3), max_size=400) | st.builds(
    lambda before, step, times, after: [*before, *(step * times), *after], NOISE, models, st.integers(3, 12), NOISE
)


@example([*range(20)] * 5, 0)
@given(SEQUENCES, st.integers(0, 1000))
@settings(deadline=None)
def test_cuts_tile_any_sequence(names: list[int], seed: int) -> None:
    gaps = np.random.default_rng(seed).integers(0, 100, len(names))
    found = find_steps(np.array(names, np.int64), gaps)
    if found is not None:
        assert found.positions[0] == 0
        assert (np.diff(found.positions) > 0).all()
        assert found.positions[-1] < len(names)
        assert found.partial.size == found.positions.size >= 3


def test_one_kernel_over_and_over_is_no_step() -> None:
    assert steps_of([7] * 1000) is None
    assert steps_of([7, 8] * 500) is None


def test_layers_between_pauses_are_steps_although_something_else_ran_before() -> None:
    step = list(range(20))
    before = [500, 501, 502]
    starts = tuple(3 + 20 * i for i in range(10))
    found = steps_of(before + step * 10, starts)
    assert found is not None
    assert found.positions.tolist() == [0, *starts]
    assert found.partial.tolist() == [True] + [False] * 10
    assert steps_of(before + step * 10) is None


def test_micro_batches_are_no_steps_if_an_optimizer_follows_some_of_them() -> None:
    step = list(range(100)) * 4 + [900, 901, 902]
    found = steps_of(step * 5)
    assert found is not None
    assert found.positions.tolist() == [i * 403 for i in range(5)]


def test_an_additional_kernel_now_and_then_shifts_no_later_step() -> None:
    step = list(range(100))
    names = step * 30 + [777] + step * 30
    found = steps_of(names, tuple(100 * i for i in range(1, 30)))
    assert found is not None
    assert found.positions.tolist() == [*range(0, 3000, 100), *range(3001, 6001, 100)]


@pytest.mark.parametrize("size", [0, 1, 5, 11])
def test_too_short_sequences(size: int) -> None:
    assert steps_of([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3][:size]) is None


def test_what_only_the_beginning_has_is_left_out_but_a_single_pass_is_no_loop() -> None:
    step = model(layers=12, layer=8, head=3, tail=4)
    setup = [900, 901, 900]
    names = np.array(setup + step * 4, np.int64)
    assert after_setup(names, np.ones(names.size, np.int64)) == slice(3, names.size)
    once = np.array(setup + model(layers=40, layer=8, head=3, tail=4), np.int64)
    assert after_setup(once, np.ones(once.size, np.int64)) is None
    most = np.append(np.full(3, 10**6), np.ones(names.size - 3, np.int64))
    assert after_setup(names, most) is None  # the setup is most of the work


def test_a_loop_between_a_prompt_and_a_decoded_image_is_found() -> None:
    step = model(layers=4, layer=8, head=3, tail=4)
    network = np.array([0, 5, _HEAD, _TAIL], np.int64)

    def part(names: list[int]) -> slice | None:
        return inner_part(np.array(names), network)

    prompt = [900, *[name for name in step if name != 3]]
    loop = step * 24
    assert part(prompt + loop + [901, 902]) == slice(len(prompt), len(prompt + loop))
    assert part(prompt + loop + [901, _TAIL]) is None  # a network follows
    assert part([5, 903, 0, *loop]) == slice(3, 3 + len(loop))  # of layers that the loop has too
    assert part([902, _HEAD, *([5, 6, 7, 8, 9] * 48)]) is None  # layers of one pass lack what is before them
    assert part(prompt + step * 3) is None  # too few
    assert part([*range(1000, 1300), *loop]) is None  # not most of the work


def test_two_kernels_that_alternate_are_a_period_only_where_that_is_asked_for() -> None:
    names = np.array([0, 1] * 20, np.int64)
    assert find_period(names) is None
    assert find_period(names, SHORT_LENGTH) == 2
    assert find_period(np.zeros(40, np.int64), SHORT_LENGTH) is None
