from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.shared.links import linked
from support import Facts


@pytest.mark.parametrize(("with_call", "expected"), [(0, False), (1, False), (2, True), (4, True)])
def test_work_is_linked_where_most_of_it_has_its_call(with_call: int, expected: bool) -> None:
    facts = Facts()
    for number in range(4):
        at = 10_000 * (number + 1)
        facts.kernel("gemm", at, 1_000, launch=(at - 5_000, 500) if number < with_call else None)
    assert Signals.of(facts.trace())(linked) is expected


def test_without_device_work_nothing_is_unlinked() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 1_000)
    assert Signals.of(facts.trace())(linked)
