from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.communication.process_groups import tensor_groups
from support import Facts


@pytest.mark.parametrize(
    ("group", "description", "found"),
    [
        ("7", "tp", True),
        ("7", "TENSOR_MODEL_PARALLEL_GROUP", True),
        ("tp", None, True),
        ("7", "dp_cp", False),
        ("7", "TENSOR_AND_DATA_PARALLEL_GROUP", False),
        ("7", None, False),
    ],
)
def test_groups_that_layers_are_divided_over_are_known_by_their_names(
    group: str, description: str | None, found: bool
) -> None:
    facts = Facts()
    event = facts.kernel("hcom_allReduce_", 0, 50, kind="comm")
    facts.row("collectives", event=event, group=group, collective="all_reduce")
    if description:
        facts.row("groups", group=group, description=description, ranks=[0, 1], size=2)
    assert Signals.of(facts.trace())(tensor_groups) == (frozenset({group}) if found else frozenset())
