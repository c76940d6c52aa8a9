from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import messages_between, round_trips
from stepscope.signals.shared import job
from support import Facts
from transfer_support import copies

PAIR = ({"direction": "DtoH", "src": "device", "dst": "pageable", "wait": 88, "waited": 300}, {})


def given(pairs: int, steps: int) -> dict[object, object]:
    rows = [{**row, "step": number} for number in range(pairs) for row in PAIR]
    return {round_trips: copies(*rows), job.recorded_steps: steps}


def test_copies_there_and_back_go_away() -> None:
    (draft,) = drafts("CPY005", given(1, 1))
    assert figures(draft.summary) == ["1.00 MiB", "200 ns", "320 ns"]
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([10, 11], 0.0)]
    assert draft.change.unblocked.tolist() == [50, 51, 88]


def test_less_than_every_other_step_just_misses() -> None:
    assert drafts("CPY005", given(2, 5)) == []
    assert len(drafts("CPY005", given(2, 4))) == 1


def test_what_goes_to_other_processes_costs_the_copies_alone() -> None:
    (draft,) = drafts("CPY005", {**given(4, 4), messages_between: 1.0})
    assert (draft.most_ns, draft.numbers["pairs per step"]) == (200, 1.0)
    assert draft.change is not None
    assert draft.change.unblocked.size == 0
    (other,) = drafts("CPY005", {**given(4, 4), messages_between: 0.49})
    assert other.title != draft.title


def test_calls_of_mpi_between_the_copies_tell() -> None:
    def between(*calls: tuple[str, int]) -> float:
        facts = Facts()
        for number in range(4):
            at = number * 10_000_000
            facts.host("step", f"iteration {number}", at, 9_000_000)
            for direction, start in (("DtoH", 1_000_000), ("HtoD", 5_000_000)):
                call = (at + start, 400_000)
                event = facts.kernel(f"Memcpy {direction}", at + start + 5_000, 390_000, launch=call, kind="copy")
                kinds = {"src_kind": "device", "dst_kind": "pageable"}
                kinds = kinds if direction == "DtoH" else {"src_kind": "pageable", "dst_kind": "device"}
                facts.row("copies", event=event, direction=direction, bytes=1 << 20, **kinds)
            for name, start in calls:
                facts.host("annotation", name, at + start, 1_000_000)
            facts.kernel("work(double *)", at + 6_000_000, 500_000, launch=(at + 5_500_000, 2_000))
        return Signals.of(facts.trace(reader="nsight"))(messages_between)

    assert between(("mpi:MPI_Sendrecv", 2_000_000)) == 1.0
    assert between(("mpi:MPI_Allreduce", 6_500_000)) == 0.0
    assert between(("pack", 2_000_000)) == 0.0


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY005", {})
