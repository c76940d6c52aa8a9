"""Rates, shares and losses of links, from the sums that readers make of their samples."""

from __future__ import annotations

import pytest

from stepscope.analyses.communication.link_rates import link_rates
from stepscope.model.errors import MissingInputError
from support import Facts


def test_rates_shares_and_losses_of_a_port_are_one_row() -> None:
    facts = Facts()
    told = {
        "RoCE|0|": {"peak bandwidth": 25e9},
        "RoCE|0|receive": {
            "samples": 4,
            "mean share": 0.5,
            "peak share": 0.9,
            "mean dropped": 0.01,
            "peak dropped": 0.04,
            "mean errors": 0.0,
        },
        "RoCE|0|transmit": {"samples": 4, "mean rate": 5e9, "peak rate": 20e9},
        "HCCS||transmit": {"mean rate": 1e9, "peak rate": 2e9},
    }
    for subject, values in told.items():
        for metric, value in values.items():
            facts.row("recorded", source="link_rates", subject=subject, metric=metric, value=value)
    with facts.trace() as trace:
        rows = [tuple(row.values())[1:] for row in link_rates(trace).records()]
    assert rows == [
        ("HCCS", None, "transmit", None, 1e9, 2e9, None, None, None, None),
        ("RoCE", "0", "receive", 4, 12.5e9, 22.5e9, 25e9, 0.5, 0.9, 0.01),
        ("RoCE", "0", "transmit", 4, 5e9, 20e9, 25e9, 0.2, 0.8, None),
    ]


def test_without_samples_there_is_no_table() -> None:
    with Facts().trace() as trace, pytest.raises(MissingInputError, match="no collective"):
        link_rates(trace)
    facts = Facts()
    facts.row(
        "collectives", event=facts.kernel("hcom_allReduce", 0, 10, kind="comm"), group="0", collective="all_reduce"
    )
    with facts.trace() as trace, pytest.raises(MissingInputError, match="links were not sampled"):
        link_rates(trace)
