from __future__ import annotations

import pytest

from memory_support import driver_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import driver_memory
from stepscope.signals.memory.driver_memory import DriverCalls
from stepscope.signals.shared import job
from stepscope.signals.snapshots import allocator
from stepscope.signals.snapshots.allocator import Emptying


def given(calls: DriverCalls, told: bool | None = None) -> dict[object, object]:
    return {
        driver_memory.driver_calls: calls,
        driver_memory.unasked_frees: calls.where(calls.free & ~calls.in_operator),
        driver_memory.driver_share: 0.3,
        driver_memory.emptied: told,
        job.platform: "cuda",
    }


def test_memory_given_back_unasked_and_taken_again_is_found() -> None:
    (draft,) = drafts("MEM005", given(driver_calls(4)))
    assert "empty_cache" in draft.actions[0].before
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [1, 3, 5, 7]
    assert draft.confidence == 0.9
    assert drafts("MEM005", given(driver_calls(4), told=True))[0].confidence == 1.0


def test_memory_given_back_by_operators_that_need_some_is_another_matter() -> None:
    assert drafts("MEM005", given(driver_calls(4, in_operator=(True, True)))) == []


def test_now_and_then_is_no_harm() -> None:
    assert drafts("MEM005", given(driver_calls(5, only=[0, 1]))) == []
    assert len(drafts("MEM005", given(driver_calls(5, only=[0, 1, 2])))) == 1


def test_stacks_without_the_call_rule_it_out() -> None:
    assert drafts("MEM005", given(driver_calls(4), told=False)) == []


def test_without_operators_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM005", {})


def history(
    times: int = 28, retaken: int = 27, free_ns: int | None = 190_000_000, most_taking_ns: int = 190_000_000
) -> dict[object, object]:
    one = Emptying(
        "/home/me/proj/entrance.py(104): compress", times, 15 * times, times << 30, 15 * retaken, retaken, free_ns
    )
    return {
        allocator.emptyings: (one,), allocator.history_ns: 69_700_000_000, job.step_ns: 69_700_000_000,
        allocator.variable: "PYTORCH_CUDA_ALLOC_CONF", allocator.most_taking_ns: most_taking_ns,
    }  # fmt: skip


def test_a_snapshot_names_the_line_and_a_price_that_may_be_small() -> None:
    (draft,) = drafts("MEM005", history())
    assert figures(draft.title) == ["entrance.py:104"]
    assert {"1.00 GiB", "15", "28", "405", "empty_cache()"} <= set(figures(draft.summary))
    assert draft.cost_ns == 190_000_000 * (420 + 405) // 420
    assert figures(draft.summary).count("405") == 2  # allocated again, by as many calls
    assert draft.always
    assert drafts("MEM005", history(free_ns=None))[0].cost_ns is None


def test_taking_memory_anew_does_not_cost_more_than_what_passes_before_it() -> None:
    (draft,) = drafts("MEM005", history(most_taking_ns=10_000_000))
    assert draft.cost_ns == 200_000_000
    assert "200 ms" in figures(draft.summary)


def test_once_or_twice_or_at_the_end_is_nothing() -> None:
    assert drafts("MEM005", history(times=2, retaken=2)) == []
    assert drafts("MEM005", history(retaken=13)) == []
    assert len(drafts("MEM005", history(times=4, retaken=2))) == 1
