from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.rules.engine import NO_REMEDY, diagnose
from stepscope.signals import Signals
from stepscope.signals.data import data
from stepscope.signals.host import one_time
from stepscope.signals.shared import idleness, job
from support import Facts

MS = 1_000_000


def given(first_ms: int, odd: bool = True, in_process: bool | None = False) -> dict[object, object]:
    waits = data.LoaderWaits(
        np.arange(4),
        np.arange(4) * 1000 * MS,
        np.array([first_ms * MS, 2 * MS, 1 * MS, 3 * MS]),
        ("enumerate(DataLoader)#_X.__next__",) * 4,
    )
    return {data.waits: waits, data.odd_first: odd, data.in_process: in_process}


def test_a_slow_start_is_found_without_a_price() -> None:
    (draft,) = drafts("DAT002", given(1500))
    assert {"1.50 s", "2.00 ms"} <= set(figures(draft.summary))
    assert (draft.change, draft.cost_ns) == (None, None)
    assert "persistent_workers=True" in draft.actions[0].after


def test_without_workers_there_are_none_to_keep() -> None:
    (draft,) = drafts("DAT002", given(1500, in_process=True))
    assert not any("persistent_workers" in action.after for action in draft.actions)


def test_just_below_the_threshold_or_like_the_others_it_is_not() -> None:
    assert drafts("DAT002", given(99)) == []
    assert drafts("DAT002", given(1500, odd=False)) == []
    assert len(drafts("DAT002", given(100))) == 1


def alone(
    *waits_ms: int, measured_ms: int = 10, workers: bool | None = True, loop: bool = False
) -> dict[object, object]:
    number = len(waits_ms)
    waits = data.LoaderWaits(
        np.arange(number), np.arange(number) * 9000 * MS, np.array(waits_ms) * MS,
        ("enumerate(DataLoader)#_X.__next__",) * number,
    )  # fmt: skip
    return {
        data.waits: waits, data.lone: True, data.odd_first: False,
        data.in_process: None if workers is None else not workers,
        one_time.measured: one_time.Measured(measured_ms * MS, 6000 * MS, loop, True),
    }  # fmt: skip


def test_one_wait_that_dwarfs_the_batch_is_found_and_what_is_unknown_is_said_by_its_wording() -> None:
    (draft,) = drafts("DAT002", alone(5000))
    assert {"5.00 s", "6.00 s", "83.3 %", "10.0 ms"} <= set(figures(draft.summary))
    assert "can't tell" in draft.summary
    assert "schedule(" in draft.actions[0].after
    assert draft.placed_as_ns == 5000 * MS
    assert draft.recorded_share == pytest.approx(5 / 6)


def test_beside_a_loop_of_steps_it_stands_below_them() -> None:
    (draft,) = drafts("DAT002", alone(5000, loop=True))
    assert draft.placed_as_ns is None


def test_a_lone_wait_must_be_long_and_dwarf_the_batch() -> None:
    assert drafts("DAT002", alone(99)) == []
    assert len(drafts("DAT002", alone(100))) == 1
    assert drafts("DAT002", alone(299, measured_ms=100)) == []
    assert len(drafts("DAT002", alone(300, measured_ms=100))) == 1


@pytest.mark.parametrize(("wait", "stepless", "found"), [(1800, True, True), (1799, True, False), (1800, False, False)])
def test_without_steps_a_wait_is_told_by_its_part_by_its_wording(wait: int, stepless: bool, found: bool) -> None:
    facts = {**alone(wait, measured_ms=4000), job.stepless: stepless, job.platform: "cpu"}
    told = [draft for draft in drafts("DAT002", facts) if draft.recorded_share is not None]
    assert bool(told) == found
    assert all("the model computes for 4.00 s" in draft.summary for draft in told)


def test_where_the_host_is_recorded_alone_what_it_computes_is_measured() -> None:
    facts = Facts()
    facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", 0, 60 * MS)
    facts.host("op", "aten::stack", 50 * MS, 9 * MS)
    facts.host("op", "aten::mm", 60 * MS, 40 * MS)
    found = Signals.of(facts.trace(reader="kineto"))(one_time.measured)
    assert (found.ns, found.recorded_ns) == (40 * MS, 100 * MS)


def test_the_wait_in_the_only_step_is_said_where_it_takes_much_of_it() -> None:
    one = alone(50, measured_ms=150, workers=False) | {job.step_ns: 150 * MS}
    (draft,) = drafts("DAT002", one | {idleness.data_wait_idle_ns: 40 * MS})
    assert {"40.0 ms", "26.7 %"} <= set(figures(draft.summary))
    assert (draft.cost_ns, draft.taken_ns, draft.placed_as_ns) == (None, 40 * MS, 40 * MS)
    assert len(drafts("DAT002", one | {idleness.data_wait_idle_ns: 15 * MS})) == 1
    assert drafts("DAT002", one | {idleness.data_wait_idle_ns: 14 * MS}) == []
    several = alone(50, measured_ms=450, loop=True) | {job.step_ns: 150 * MS}
    assert drafts("DAT002", several | {idleness.data_wait_idle_ns: 40 * MS}) == []


def test_a_loader_in_the_main_process_has_no_workers_to_keep() -> None:
    (draft,) = drafts("DAT002", alone(5000, workers=False))
    assert any("num_workers=8" in action.after for action in draft.actions)
    (draft,) = drafts("DAT002", alone(5000, workers=None))
    assert not any("persistent_workers" in action.after for action in draft.actions)


def test_a_batch_of_a_recording_without_steps_is_found_in_a_trace() -> None:
    facts = Facts()
    facts.host("dataloader", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 5000 * MS)
    for number in range(40):
        at = 5000 * MS + number * MS
        facts.host("op", "aten::mm", at, 20_000)
        facts.kernel("gemm", at + 100_000, 800_000, launch=(at, 10_000))
    found = diagnose(facts.trace(reader="kineto"), strict=True).shown
    assert found[0].code == "DAT002"
    assert all(one.actions or NO_REMEDY in one.summary for one in found)


def test_without_a_loader_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT002", {})
