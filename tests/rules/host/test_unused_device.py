from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.signals.host.one_time import Measured, measured
from stepscope.signals.host.outside import Outside, outside
from stepscope.signals.host.own_work import Doing, own_work_share
from stepscope.signals.host.profiler_cost import own_late_share
from stepscope.signals.shared import job
from support import Facts

S = 1_000_000_000


def doing(seconds: float, name: str = "") -> Doing:
    return Doing(Intervals.union_of([0], [int(seconds * S)]), name)


def given(after: Doing, before: Doing, *, recorded: float = 40.0, steps: int = 0) -> dict[object, object]:
    return {outside: Outside(before, after, int(recorded * S)), job.steps: steps}


def test_time_after_the_last_work_is_found_and_weighs_most_where_there_are_no_steps() -> None:
    (draft,) = drafts("HST014", given(doing(38.3), doing(0.3)))
    assert figures(draft.summary) == ["38.3 s", "95.8 %"]
    assert (draft.cost_ns, draft.taken_ns) == (None, round(38.3 * S))
    assert drafts("HST014", given(doing(38.3), doing(0.3), steps=5))[0].taken_ns is None


@pytest.mark.parametrize(("device", "chosen", "first"), [(12.7, True, True), (12.8, True, False), (12.7, False, False)])
def test_it_stands_first_where_it_dwarfs_what_was_to_be_measured(device: float, chosen: bool, first: bool) -> None:
    what = Measured(int(device * S), 40 * S, loop=False, chosen=chosen)
    (draft,) = drafts("HST014", {**given(doing(38.3), doing(0.3)), measured: what})
    assert draft.placed_as_ns == (round(38.3 * S) if first else None)


def test_time_before_the_first_work_is_found_where_it_has_a_name() -> None:
    assert drafts("HST014", given(doing(0), doing(30))) == []
    (draft,) = drafts("HST014", given(doing(0), doing(30, "init_model"), steps=4))
    assert {"init_model"} <= set(figures(draft.summary))
    assert (draft.cost_ns, draft.taken_ns) == (None, None)


@pytest.mark.parametrize(
    ("name", "prepares", "word"),
    [
        ("torch/serialization.py(1000): load", False, "mmap=True"),
        ("hub.py(80): snapshot_download", False, "mmap=True"),
        ("data.py(3): load_image", True, "pool.map"),
        ("loadings.py(3): overload_all", False, "torch.device"),
        ("init_model", False, "torch.device"),
    ],
)
def test_what_is_advised_before_the_first_work_follows_the_name(name: str, prepares: bool, word: str) -> None:
    before = Doing(Intervals.union_of([0], [30 * S]), name, prepares=prepares)
    (draft,) = drafts("HST014", given(doing(0), before))
    assert word in draft.actions[0].after
    assert "with profile()" in draft.actions[1].after


@pytest.mark.parametrize(
    ("stepless", "name", "said"),
    [(True, "load_image", False), (False, "load_image", True), (True, "pickle.py(9): load_data", True)],
)
def test_preparing_input_before_all_work_is_said_once(stepless: bool, name: str, said: bool) -> None:
    before = Doing(Intervals.union_of([0], [30 * S]), name, prepares=True)
    assert bool(drafts("HST014", {**given(doing(0), before), job.stepless: stepless})) is said
    if not said:
        both = {**given(doing(0), before), job.stepless: True, job.platform: "cuda", own_work_share: 0.0}
        assert len(drafts("DAT006", {**both, own_late_share: 0.0})) == 1


def test_half_of_the_recording_and_a_second_are_the_least() -> None:
    assert drafts("HST014", given(doing(19.9), doing(0))) == []
    assert len(drafts("HST014", given(doing(20), doing(0)))) == 1
    assert drafts("HST014", given(doing(0.99), doing(0), recorded=1)) == []


def after_the_last_kernel(*calls: tuple[str, str, float, float]) -> Facts:
    facts = Facts()
    facts.kernel("gemm", S, S, launch=(S - 5_000, 4_000))
    facts.host("runtime", "cudaFree", 30 * S, 1_000_000)
    for category, name, start, length in calls:
        facts.host(category, name, int(start * S), int(length * S))
    return facts


def test_a_program_that_goes_on_without_its_device_is_found_in_a_trace() -> None:
    (finding,) = findings("HST014", after_the_last_kernel().trace())
    assert {"28.0 s"} <= set(figures(finding.summary))


def test_waiting_for_a_person_is_not() -> None:
    assert findings("HST014", after_the_last_kernel(("other", "getc", 3, 26)).trace()) == []


def test_without_a_host_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST014", {})
