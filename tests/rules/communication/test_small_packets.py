from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.analyses.shared.typical import typical_part
from stepscope.model.errors import MissingInputError
from stepscope.rules.communication.rdma_class import RDMA_CLASS
from stepscope.signals import Signals
from stepscope.signals.communication import packets, sampled_links
from stepscope.signals.communication.packets import MovedOperations
from stepscope.signals.communication.sampled_links import SampledLink
from stepscope.signals.shared import job
from support import Facts


def given(*operations: tuple[str, float, float], step: int = 100_000_000) -> dict[object, object]:
    """Operations by transport, MB and GB/s, in one step."""
    kinds, sizes, rates = (np.array(column) for column in zip(*operations, strict=True))
    ns = sizes * 1e6 / rates
    return {packets.moved: MovedOperations(kinds, sizes * 1e6, ns, ns, 1), job.step_ns: step}


LARGE = ("SDMA", 160.0, 16.0)


def test_small_and_slow_ones_are_found() -> None:
    (draft,) = drafts("COM010", given(LARGE, *[("SDMA", 8.0, 4.0)] * 2))
    assert {"66.7", "16.0 MB", "8.00 MB", "4.00 GB/s", "16.0 GB/s"} & set(figures(draft.summary))
    assert "RDMA" not in draft.summary
    assert draft.taken_ns == 4_000_000
    assert draft.change is None


def test_without_large_ones_the_usual_rate_of_a_link_counts() -> None:
    assert len(drafts("COM010", given(("SDMA", 15.9, 8.9)))) == 0
    assert len(drafts("COM010", given(("SDMA", 15.9, 5.0)))) == 1
    assert drafts("COM010", given(("SDMA", 16.0, 5.0))) == []  # not small
    assert drafts("COM010", given(("RDMA", 0.9, 0.1))) == []  # what the adapter gives is not known


def test_few_quick_or_cheap_ones_are_not_reported() -> None:
    assert drafts("COM010", given(*[LARGE] * 9, *[("SDMA", 8.0, 2.0)] * 2)) == []  # 2 of 11
    assert len(drafts("COM010", given(*[LARGE] * 8, *[("SDMA", 8.0, 2.0)] * 2))) == 1
    assert drafts("COM010", given(LARGE, *[("SDMA", 8.0, 8.0)] * 2)) == []  # half of the rate of large ones
    assert drafts("COM010", given(LARGE, ("SDMA", 8.0, 4.1))) == []  # 1.95 % of the step


def test_large_transfers_by_rdma_must_come_near_the_rate_of_an_adapter() -> None:
    (draft,) = drafts("COM010", given(("RDMA", 20.0, 4.9)))
    assert draft.actions[:-1] == RDMA_CLASS
    assert drafts("COM010", given(("RDMA", 20.0, 5.0))) == []
    assert drafts("COM010", given(("RDMA", 5.0, 4.9))) == []  # 1 % of the step


def link(direction: str = "receive", **more: float | None) -> SampledLink:
    known: dict[str, float | None] = {"bandwidth": None, "peak_share": None, "lost_share": None, **more}
    return SampledLink("RoCE", "0", direction, **known)


def test_what_an_adapter_can_carry_decides_where_it_was_sampled() -> None:
    slow = given(("RDMA", 20.0, 4.9))
    assert drafts("COM010", {**slow, sampled_links.sampled_links: (link(bandwidth=12e9),)}) == []
    (draft,) = drafts("COM010", {**slow, sampled_links.sampled_links: (link(bandwidth=25e9, peak_share=0.89),)})
    assert {"4.90 GB/s", "5.00 GB/s"} <= set(figures(draft.summary))
    assert draft.actions[:-1] == RDMA_CLASS
    (draft,) = drafts("COM010", {**slow, sampled_links.sampled_links: (link(bandwidth=25e9, peak_share=0.9),)})
    assert "90.0 %" in figures(draft.summary)
    # What fills it may be the job itself.
    assert ("nothing else uses" in draft.actions[0].text, draft.actions[1:-1]) == (True, RDMA_CLASS)


def test_other_recordings_have_no_such_sums() -> None:
    with pytest.raises(MissingInputError, match="parts of its collectives"):
        Signals.of(Facts().trace())(packets.moved)


def test_sums_are_read_per_operation_and_transport() -> None:
    facts = Facts()
    subject = "collective hcom_allReduce__1_0_1@123"
    for step in ("5", "6"):
        for metric, value in (("Transit Size(MB)", 8.0), ("Transit Time(ms)", 2.0)):
            for transport in ("SDMA", "HCCS"):
                facts.row("recorded", source="bandwidth", step=step, subject=f"{subject} {transport}", metric=metric,
                          value=value)  # fmt: skip
        facts.row("recorded", source="communication", step=step, subject=subject, metric="Transit Time(ms)", value=0.5)
    facts.row("recorded", source="bandwidth", step="5", subject="collective Total Op Info SDMA",
              metric="Transit Size(MB)", value=99.0)  # fmt: skip
    found = Signals.of(facts.trace())(packets.moved)
    assert found.transport.tolist() == ["SDMA", "SDMA"]
    assert found.bytes.tolist() == [8e6, 8e6]
    assert found.rate == 4e9
    assert found.steps == 2
    assert found.ns_per_step == 500_000


def test_what_other_steps_than_the_typical_ones_moved_is_not_counted() -> None:
    facts = Facts()
    for number, length in ((5, 100), (6, 9_000), (7, 100)):
        facts.step(number, number * 10_000, length)
    for step, ms in (("5", 2.0), ("6", 900.0), ("7", 2.0)):
        for metric, value in (("Transit Size(MB)", 8.0), ("Transit Time(ms)", ms)):
            facts.row("recorded", source="bandwidth", step=step, subject="collective hcom_allReduce__1_0_1@1 RDMA",
                      metric=metric, value=value)  # fmt: skip
    found = Signals.of(typical_part(facts.trace()))(packets.moved)
    assert (found.steps, found.ns_per_step, found.rate) == (2, 2_000_000, 4e9)
