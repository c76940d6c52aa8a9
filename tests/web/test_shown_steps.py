"""Which step of a side is shown beside the other's: small recordings in, places of steps out."""

from __future__ import annotations

from stepscope.comparison.side import side_of
from stepscope.comparison.summary import summary_of
from stepscope.web.compared.shown_steps import shown_steps
from support import Facts


def test_the_typical_step_is_the_one_of_median_length() -> None:
    facts = Facts()
    for number, (start, length) in enumerate([(0, 300), (1000, 500), (2000, 100), (3000, 400)]):
        facts.step(number, start, 1000)
        facts.kernel("gemm", start, length)
    with facts.trace() as trace:
        side = summary_of(side_of(trace, 0, (0, 1, 2, 3))).facts
        found = shown_steps(trace, side)
    lengths = [end - start for _, start, end in found["moments"]]
    assert [number for number, *_ in found["moments"]] == [0, 1, 2, 3]
    assert lengths[found["typical"]] == sorted(lengths)[1]


def test_without_times_there_is_none() -> None:
    with Facts().trace() as trace:
        found = shown_steps(trace, summary_of(side_of(trace, 0)).facts)
    assert found == {"moments": [], "typical": None}
