"""Steps found from events: `B` a batch is asked for, `D` and `G` optimizers update, `m` and `v` models are called."""

from __future__ import annotations

import pytest

from stepscope.record.steps.finder import StepFinder


def starts(events: str, *, trains: bool = True) -> list[tuple[int, int]]:
    """Position of the event at which each step starts, and its number."""
    finder = StepFinder()
    finder.expects_updates = trains
    found = []
    for at, event in enumerate(events):
        if event == "B":
            starts = finder.batch()
        elif event.isupper():
            starts = finder.update(event)
        else:
            starts = finder.call(event)
        if starts:
            found.append((at, finder.number))
    return found


def test_a_step_starts_with_the_batch_after_an_update() -> None:
    assert starts("BDBDBD") == [(2, 1), (4, 2)]


def test_without_a_loader_a_step_starts_after_an_update() -> None:
    assert starts("DDD") == [(0, 1), (1, 2), (2, 3)]


def test_batches_over_which_gradients_are_accumulated_are_one_step() -> None:
    assert starts("BBBDBBBDBBBD") == [(4, 1), (8, 2)]


def test_two_optimizers_update_once_each() -> None:
    assert starts("BDGBDGBDG")[-2:] == [(3, 1), (6, 2)]
    assert starts("DGDGDG")[-2:] == [(3, 2), (5, 3)]


@pytest.mark.parametrize("updates", [2, 3, 5])
def test_a_critic_that_updates_more_often_closes_no_step(updates: int) -> None:
    one = "B" + updates * "D" + "G"
    assert starts(6 * one)[-2:] == [(4 * len(one), 4), (5 * len(one), 5)]


def test_an_optimizer_that_is_hardly_used_closes_no_step() -> None:
    found = starts(20 * "BD" + "G" + 40 * "BD")
    assert found[-1][1] == 59


def test_evaluation_belongs_to_the_step_that_its_first_batch_starts() -> None:
    assert starts("BDBD" + "BBB" + "BDBD") == [(2, 1), (4, 2), (9, 3)]


def test_a_loader_that_is_used_up_leaves_steps_to_updates() -> None:
    assert starts("BDBD" + "DDD")[-3:] == [(4, 3), (5, 4), (6, 5)]


def test_batches_are_steps_where_nothing_trains() -> None:
    assert starts("BBB", trains=False) == [(0, 0), (1, 1), (2, 2)]


def test_batches_before_any_update_are_no_steps_where_an_optimizer_exists() -> None:
    assert starts(256 * "B") == []
    assert starts(257 * "B") == [(256, 256)]


def test_calls_of_the_model_that_is_called_first_are_steps() -> None:
    assert starts("mvvmvvm", trains=False) == [(0, 0), (3, 1), (6, 2)]


def test_a_model_that_is_used_no_more_is_replaced() -> None:
    assert starts("v" + 202 * "m", trains=False)[1:] == [(201, 200), (202, 201)]


def test_calls_are_no_steps_where_there_are_batches_or_an_optimizer() -> None:
    assert starts("BmBm", trains=False) == [(0, 0), (2, 1)]
    assert starts("mmm") == []


def test_what_steps_are_found_by_does_not_change_while_they_are_recorded() -> None:
    finder = StepFinder()
    for _ in range(5):
        finder.batch()
    finder.hold()
    assert not finder.update("D")
    assert finder.batch()
    assert (finder.source, finder.number) == ("loader", 5)
