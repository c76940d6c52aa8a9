from __future__ import annotations

from typing import Any

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Draft
from stepscope.signals.kernels import unit_use
from stepscope.signals.kernels.unit_use import LinkUse
from stepscope.signals.shared import job


def _found(*links: LinkUse, copies: int = 0, collectives: int = 0) -> list[Draft]:
    given: dict[Any, Any] = {
        unit_use.link_use: links,
        unit_use.exposed_transfers: {"pcie": copies, "nvlink": collectives},
        job.step_ns: 1_000_000,
    }
    return drafts("COM011", given)


def test_a_full_link_of_exposed_copies() -> None:
    links = (LinkUse("pcie", "receive", 0.8), LinkUse("pcie", "transmit", 0.1), LinkUse("nvlink", "receive", 0.9))
    (draft,) = _found(*links, copies=20_000, collectives=19_999)
    assert (draft.key, draft.taken_ns) == ("pcie", 20_000)
    assert {"80.0 %", "20.0 µs", "2.0 %"} <= set(figures(draft.summary))


def test_a_full_link_of_exposed_collectives() -> None:
    (draft,) = _found(LinkUse("nvlink", "transmit", 0.93), collectives=400_000)
    assert draft.key == "nvlink"
    assert {"93.0 %", "40.0 %"} <= set(figures(draft.summary))


@pytest.mark.parametrize("share", [0.0, 0.799])
def test_a_link_with_room_is_left_alone(share: float) -> None:
    assert _found(LinkUse("pcie", "receive", share), copies=500_000) == []


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM011", {})
