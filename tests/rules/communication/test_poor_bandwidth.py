from __future__ import annotations

import numpy as np
import pytest

from comm_support import MIB, some_calls
from rule_support import drafts, figures
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import links
from stepscope.signals.communication.links import Bandwidths, Link
from stepscope.signals.shared import job

NVLINK = Link(said("the links of the {name}", name="A100"), 200e9, 30e9)
NETWORK = Link(said("the network between hosts"), 20e9, 0.0)


def given(rate: float, way: Link = NVLINK, count: int = 4, told: bool = True) -> dict[object, object]:
    calls = some_calls(count, bytes=32 * MIB, told=told, transfer=800, dur=1_000)
    return {
        links.large: Bandwidths(calls, np.full(count, 1.75), np.full(count, rate)),
        links.bandwidth: rate,
        links.link: way,
        job.platform: "cuda",
    }


def test_links_at_a_tenth_of_their_rate_are_found() -> None:
    (draft,) = drafts("COM002", given(20e9))
    assert {"20.0 GB/s", "200 GB/s", "30.0 GB/s"} <= set(figures(draft.summary))
    assert draft.confidence == 0.9


def test_the_price_scales_transfers_to_the_usual_bandwidth_and_keeps_waiting() -> None:
    slow = given(20e9)
    calls = some_calls(2, bytes=32 * MIB, transfer=2_936_012, dur=3_000_000)
    slow[links.large] = Bandwidths(calls, np.full(2, 1.75), np.full(2, 20e9))
    (draft,) = drafts("COM002", slow)
    assert draft.change is not None
    [part] = draft.change.device
    assert part.events.tolist() == [0, 1]
    # 32 MiB x 1.75 / 200 GB/s = 294 µs, and 64 µs of waiting, of 3 ms.
    assert part.factor == 0.12


def test_the_price_scales_smaller_collectives_too_down_to_what_each_takes_besides() -> None:
    slow = given(20e9)
    last = some_calls(1, event=7, bytes=2 * MIB, transfer=480_000, dur=480_000)
    for fixed, smaller, factors in ((50_000, last, [0.14, 0.28]), (0, None, [0.24])):
        calls = some_calls(1, bytes=32 * MIB, transfer=1_230_000, dur=1_230_000)
        # 294 µs for 32 MiB, 18 µs for 2 MiB, and 50 µs for each.
        at = (np.full(1, 1.75), np.full(1, 20e9), fixed)
        slow[links.large] = Bandwidths(calls, *at, smaller, np.full(1, 1.75))
        (draft,) = drafts("COM002", slow)
        assert draft.change is not None
        assert [part.factor for part in draft.change.device] == factors


def test_between_hosts_the_least_is_that_of_a_slow_network() -> None:
    assert drafts("COM002", given(5e9, NETWORK)) == []
    assert {"4.00 GB/s"} <= set(figures(drafts("COM002", given(4e9, NETWORK))[0].summary))


def test_just_enough_bandwidth_is_not_reported() -> None:
    assert drafts("COM002", given(30e9)) == []
    assert len(drafts("COM002", given(29.9e9))) == 1


def test_on_one_rank_alone_the_best_of_several_calls_decides() -> None:
    assert drafts("COM002", given(4e9, NETWORK, count=4, told=False)) == []
    (draft,) = drafts("COM002", given(4e9, NETWORK, count=5, told=False))
    assert draft.confidence == 0.5


def test_wording_of_one_rank_alone() -> None:
    (draft,) = drafts("COM002", given(4e9, NETWORK, count=5, told=False))
    assert "at best" in draft.summary
    assert "can't be distinguished from transfer" in draft.summary


def test_npus_are_told_their_own_settings() -> None:
    values = {**given(4e9, NETWORK), job.platform: "npu"}
    assert "HCCL_INTRA_ROCE_ENABLE=1" in drafts("COM002", values)[0].actions[0].after


def test_without_sizes_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM002", {})
