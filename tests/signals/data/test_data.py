from __future__ import annotations

import numpy as np
import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.data import data, loader_activity
from support import Facts

MULTI = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
MS = 1_000_000


def loaded(*waits_ms: float, name: str = MULTI, step_ms: int = 1000) -> Facts:
    facts = Facts()
    for number, wait in enumerate(waits_ms):
        at = number * step_ms * MS
        facts.step(number, at, step_ms * MS)
        facts.host("dataloader", name, at + MS, int(wait * MS))
        facts.kernel("gemm", at + 500 * MS, 400 * MS, launch=(at + 400 * MS, 1000))
    return facts


def signals(facts: Facts) -> Signals:
    return Signals.of(facts.trace())


def waiting(*waits_ms: float, name: str = MULTI) -> Signals:
    """Signals that follow from the waits alone, which are stated."""
    ts = np.arange(len(waits_ms)) * 1000 * MS
    dur = np.array([int(wait * MS) for wait in waits_ms])
    return Signals(0, {data.waits: data.LoaderWaits(ts, ts, dur, (name,) * ts.size)})


class TestWaits:
    def test_they_are_means_per_step(self) -> None:
        found = signals(loaded(100, 50, 150, 100))
        assert found(data.wait_ns) == 99_500_000
        assert found(data.wait_share) == pytest.approx(0.0995)

    @pytest.mark.parametrize(("shortest", "name", "taking"), [(0.2, MULTI, 0.2), (0.6, MULTI, 0.5), (0.2, SINGLE, 0)])
    def test_taking_a_batch_that_is_there_is_no_wait(self, shortest: float, name: str, taking: float) -> None:
        found = waiting(shortest, 1, 1, 1, name=name)
        assert found(data.taking_ns) == round(taking * MS)

    @pytest.mark.parametrize(("name", "alone"), [(MULTI, False), (SINGLE, True), ("NextBatch.DataLoader", None)])
    def test_the_name_tells_whether_workers_load(self, name: str, alone: bool | None) -> None:
        assert waiting(1, 1, name=name)(data.in_process) is alone

    def test_without_a_loader_there_is_nothing_to_say(self) -> None:
        with pytest.raises(MissingInputError, match="no data loader"):
            signals(loaded())(data.waits)


class TestAnOddFirstWait:
    @pytest.mark.parametrize(
        ("waits", "odd"),
        [
            ((60, 11, 2, 3), True),
            ((55, 11, 2, 3), False),  # a later one takes a fifth of it
            ((60, 11, 2), False),  # too few later ones
            ((9.9, 0.1, 0.1, 0.1), False),  # not worth mentioning
            ((60, 1, 60, 1, 60), False),  # two workers that are too slow
        ],
    )
    def test_it_is_far_longer_than_all_later_ones(self, waits: tuple[float, ...], odd: bool) -> None:
        assert waiting(*waits)(data.odd_first) is odd

    def test_it_does_not_count_among_the_regular_ones(self) -> None:
        found = signals(loaded(600, 10, 20, 30))
        assert found(data.regular).dur.tolist() == [10 * MS, 20 * MS, 30 * MS]
        assert found(data.wait_ns) == 19_500_000


class TestIrregularWaits:
    def test_few_long_ones_at_changing_intervals_are(self) -> None:
        waits = [1, 90, 1, 1, 1, 80, 1, 1, 100, 1, 1, 1]
        late = signals(loaded(*waits))(data.irregular)
        assert late.nonzero()[0].tolist() == [1, 5, 8]

    @pytest.mark.parametrize(
        ("waits", "late"),
        [
            ([1, 1, 100, 1, 1, 1, 1, 80, 1, 1, 1, 1, 1], [2, 7]),  # no third one at 12
            ([1, 1, 1, 1, 1, 1, 100, 1, 1, 1, 1, 80], [6, 11]),  # nor at 1
            ([1, 100, 1, 1, 1, 20, 1, 1, 1, 1, 1, 1], [1]),
        ],
    )
    def test_two_without_a_third_as_far_away_and_a_single_one_are(self, waits: list[float], late: list[int]) -> None:
        assert waiting(*waits)(data.irregular).nonzero()[0].tolist() == late

    @pytest.mark.parametrize(
        "waits",
        [
            [100, 1, 1, 1, 100, 1, 1, 1, 100, 1, 1, 1],  # four workers that are too slow
            [100, 1, 100, 1, 90, 100, 1, 100, 1, 90, 100, 1],  # most of the job is waiting
            [50, 51, 52, 49, 50, 50, 51, 50, 50, 50, 51, 50],
            [1, 1, 100, 1, 1, 1, 1, 100, 1, 1, 1, 1],  # the next ones may be outside the recording
            [100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],  # the first
        ],
    )
    def test_regular_or_frequent_ones_are_not(self, waits: list[float]) -> None:
        assert not waiting(*waits)(data.irregular).any()

    def test_they_cost_what_the_device_is_idle_meanwhile_also_in_steps_that_are_not_typical(self) -> None:
        facts = loaded(1, 90, 1, 1, 1, 80, 1, 1, 100, 1, 1, 1)
        facts.kernel("late", 1010 * MS, 30 * MS, launch=(950 * MS, 1000))
        assert signals(facts)(data.late_idle_ns) == (90 - 30 + 80 + 100) * MS // 12


class TestInsideALoaderWithoutWorkers:
    def facts(self) -> Facts:
        facts = loaded(100, 100, name=SINGLE)
        for at in (1 * MS, 1001 * MS):
            facts.host("python", "torch/utils/data/dataloader.py(9): __next__", at, 100 * MS)
            facts.host("python", "images.py(3): __getitem__", at + 1000, 80 * MS)
            facts.host("op", "aten::stack", at + 2000, 60 * MS)
            facts.host("op", "aten::cat", at + 3000, 20 * MS)
            facts.host("other", "read", at + 81 * MS, 10 * MS)
            facts.host("other", "futex", at + 92 * MS, 7 * MS)
            facts.host("op", "aten::mul", at + 200 * MS, 5 * MS)
        return facts

    def test_outermost_operators_and_reads_are_told_apart(self) -> None:
        found = signals(self.facts())
        assert found(loader_activity.preparing).ns == 120 * MS
        assert found(loader_activity.preparing_share) == pytest.approx(0.6)
        assert found(loader_activity.reading).ns == 20 * MS
        assert found(loader_activity.reading_share) == pytest.approx(0.1)

    def test_the_function_that_takes_most_of_it_is_named_first(self) -> None:
        found = signals(self.facts())
        assert found(loader_activity.preparing).names == ("images.py(3): __getitem__", "aten::stack")

    def test_a_function_that_takes_less_than_half_is_not_named(self) -> None:
        facts = loaded(100, 100, name=SINGLE)
        for at in (1 * MS, 1001 * MS):
            facts.host("python", "torch/utils/data/dataloader.py(9): __next__", at, 100 * MS)
            facts.host("python", "images.py(3): __getitem__", at + 1000, 49 * MS)
            facts.host("op", "aten::stack", at + 2000, 40 * MS)
        assert signals(facts)(loader_activity.preparing).names == ("aten::stack",)

    def test_what_workers_do_is_not_recorded(self) -> None:
        with pytest.raises(MissingInputError, match="workers"):
            signals(loaded(1, 1))(loader_activity.preparing)


class TestReceiving:
    def test_taking_over_what_a_worker_has_ready_is_told_from_waiting_for_it(self) -> None:
        facts = loaded(10, 10)
        for number in range(2):
            at = (number * 1000 + 2) * MS
            facts.host("python", "torch/utils/data/dataloader.py(1): _try_get_data", at, 8 * MS)
            facts.host("python", "torch/multiprocessing/reductions.py(5): rebuild_storage_fd", at + MS, 6 * MS)
            facts.host("python", "multiprocessing/reduction.py(9): detach", at + 2 * MS, 3 * MS)
        s = signals(facts)
        assert s(loader_activity.receiving).ns == 12 * MS
        assert s(loader_activity.receiving_share) == pytest.approx(0.6)
        assert s(loader_activity.receiving).names == ("torch/multiprocessing/reductions.py(5): rebuild_storage_fd",)

    @pytest.mark.parametrize("name", [SINGLE, MULTI])
    def test_without_stacks_or_workers_nothing_is_known(self, name: str) -> None:
        with pytest.raises(MissingInputError, match="how batches come"):
            signals(loaded(10, 10, name=name))(loader_activity.receiving)
