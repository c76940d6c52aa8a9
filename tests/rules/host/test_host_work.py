from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.model.program import Framework, Program
from stepscope.signals.host import compiling, own_work, profiler_cost
from stepscope.signals.recording import recording
from stepscope.signals.shared import job, program


def given(
    share: float = 0.4,
    *,
    name: str = "train.py(3): evaluate",
    prepares: bool = False,
    steps: int = 5,
    late: float = 1.0,
) -> dict[object, object]:
    found = Intervals(np.array([0, 600_000]), np.array([200_000, 800_000]))
    parts = (("metrics.py(9): f1", 0.3),) if name else ()
    return {
        own_work.own_work_share: share,
        profiler_cost.own_late_share: late,
        own_work.own_work: own_work.Doing(found, name, parts, prepares),
        job.step_ns: 1_000_000,
        job.steps: steps,
        recording.profiler: "nsight",
    }


def test_other_work_is_found_by_its_function() -> None:
    (draft,) = drafts("HST013", given())
    assert figures(draft.summary) == ["2", "200 µs", "30.0 %", "40.0 %", "metrics.py(9)", "train.py(3)"]
    assert draft.most_ns == 400_000
    assert draft.change is not None
    assert draft.change.time[0].factor == 0.0


def test_a_pause_is_to_be_taken_out() -> None:
    found = Intervals(np.array([0]), np.array([400_000]))
    paused = own_work.Doing(found, "train.py(3): poll", (("time.sleep", 0.9),))
    (draft,), (other,) = drafts("HST013", {**given(), own_work.own_work: paused}), drafts("HST013", given())
    assert len(draft.actions) == 1
    assert draft.actions[0] not in other.actions


def test_where_nothing_tells_what_it_is_finding_out_comes_first() -> None:
    (draft,) = drafts("HST013", given(name=""))
    assert not draft.key
    assert "nvtx,osrt" in draft.actions[0].after


def compiled(
    longest_ms: int,
    *,
    steps: int = 0,
    is_compiled: bool = True,
    events: int = 0,
    framework: Framework = "pytorch",
    new: bool = True,
) -> dict[object, object]:
    found = Intervals(np.array([0]), np.array([longest_ms * 1_000_000]))
    return given(name="", steps=steps) | {
        own_work.own_work: own_work.Doing(found),
        own_work.before_new_kernels: new,
        job.step_ns: 2 * longest_ms * 1_000_000,
        program.program: Program(compiled=is_compiled, framework=framework),
        compiling.compiling_events: np.arange(events),
    }


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (compiled(100), True),
        (compiled(99), False),
        (compiled(100, steps=2), True),
        (compiled(100, steps=3), False),
        (compiled(100, is_compiled=False), False),
        (compiled(100, events=1), False),
        (compiled(100, framework="tensorrt"), False),
        (compiled(100, new=False), False),
    ],
)
def test_compilation_not_recorded_is_a_hypothesis_by_its_wording(found: dict[object, object], said: bool) -> None:
    (draft,) = drafts("HST013", found)
    assert ("hypothesis" in draft.summary) is said
    assert ("compiles" in draft.actions[0].after) is said


def test_calls_of_mpi_are_named_and_have_remedies_of_their_own() -> None:
    found = given(name="mpi:MPI_Sendrecv")
    found[own_work.own_work] = own_work.Doing(
        Intervals(np.array([0]), np.array([500_000])), "", (("mpi:MPI_Sendrecv", 0.4), ("MPI_Wait", 0.2))
    )
    (draft,) = drafts("HST013", found)
    assert "MPI_Irecv" in draft.actions[0].after
    found[own_work.own_work] = own_work.Doing(
        Intervals(np.array([0]), np.array([500_000])), "", (("mpi:MPI_Sendrecv", 0.4), ("write", 0.5))
    )
    (other,) = drafts("HST013", found)
    assert other.title != draft.title
    assert "MPI_Irecv" not in other.actions[0].after


def test_just_below_the_threshold_and_for_input_nothing_is_said() -> None:
    assert drafts("HST013", given(0.0499)) == []
    assert drafts("HST013", given(prepares=True)) == []
    assert len(drafts("HST013", given(0.05))) == 1


def test_what_is_mostly_waiting_for_somebody_is_not_the_hosts_work() -> None:
    waiting = own_work.Doing(Intervals(np.array([0]), np.array([40_000])))
    assert drafts("HST013", {**given(), own_work.own_work: waiting}) == []


def test_what_the_profiler_adds_is_taken_off() -> None:
    assert drafts("HST013", given(late=0.0499)) == []
    assert len(drafts("HST013", given(late=0.05))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST013", {})


def test_functions_outside_of_the_named_one_are_not_called_its_parts() -> None:
    found = given()
    stretches = Intervals(np.array([0]), np.array([400_000]))
    found[own_work.own_work] = own_work.Doing(
        stretches, "a.py(1): f", (("b.py(2): g", 0.5),), False, (("c.py(3): h", 0.2),)
    )
    (draft,) = drafts("HST013", found)
    assert draft.summary.endswith("most of it in a.py(1): f (b.py(2): g 50.0 % of it); 20.0 % in c.py(3): h.")


def waiting(count: int = 3, each: int = 20_000, own: int = 0, loops: int = 1) -> dict[object, object]:
    at = np.arange(count) * 100_000
    found = Intervals(at, at + each)
    return {
        **given(name=""),
        own_work.own_work: own_work.Doing(Intervals(np.array([500_000]), np.array([500_000 + max(own, 1)]))),
        own_work.others_awaited: own_work.Doing(found, "poll", (("poll", 1.0),)),
        job.recorded_steps: loops,
    }


def test_waits_for_somebody_else_are_advice() -> None:
    (draft,) = drafts("HST013", waiting())
    assert {"3", "20.0 µs", "6.0 %"} <= set(figures(draft.summary))
    assert draft.change is None
    assert draft.taken_ns == 60_000
    assert draft.waiting


def test_two_waits_or_short_ones_are_nothing_and_the_host_s_own_work_comes_first() -> None:
    assert drafts("HST013", waiting(count=2, each=90_000)) == []
    assert drafts("HST013", waiting(each=16_000)) == []
    assert drafts("HST013", waiting(loops=2)) == []
    (draft,) = drafts("HST013", waiting(own=60_000))
    assert draft.change is not None
