from __future__ import annotations

from dataclasses import replace

import pytest

from fusion_support import CHANGE, sequences
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.fusions import norms
from stepscope.signals.shared.idleness import waiting_for_host_share


def test_it_says_how_often_as_what_and_what_would_remain() -> None:
    (draft,) = drafts("KRN009", sequences(norms, 0.2))
    assert figures(draft.summary) == ["1.00 µs", "2", "2.00 µs", "4"]
    assert draft.change is CHANGE
    assert draft.events.tolist() == [4, 5, 6]


def test_the_host_s_time_is_told_where_fewer_calls_shorten_it_and_no_price_is_higher_than_both() -> None:
    (draft,) = drafts("KRN009", sequences(norms, 0.2))
    assert draft.most_ns == 1_000
    signals = sequences(norms, 0.2)
    signals[norms] = replace(signals[norms], host_ns=24_000, host_after_ns=6_000)  # type: ignore[type-var]
    (draft,) = drafts("KRN009", signals)
    assert {"1.00 µs", "2.00 µs", "8.00 µs"} <= set(figures(draft.summary))
    assert draft.most_ns == 7_000


@pytest.mark.parametrize(("share", "said"), [(0.05, True), (0.049, False)])
def test_wording_is_silent_on_the_host_where_the_device_never_waits_for_it(share: float, said: bool) -> None:
    signals = sequences(norms, 0.2)
    signals[norms] = replace(signals[norms], host_ns=24_000, host_after_ns=6_000)  # type: ignore[type-var]
    signals[waiting_for_host_share] = share
    (draft,) = drafts("KRN009", signals)
    assert ("of the host's" in draft.summary) == said


def test_the_remedy_is_that_of_the_platform() -> None:
    for platform, code in (
        ("cuda", "F.rms_norm"),
        ("rocm", "F.rms_norm"),
        ("npu", "npu_rms_norm"),
        ("cpu", "F.rms_norm"),
    ):
        (draft,) = drafts("KRN009", sequences(norms, 0.2, platform))
        assert code in draft.actions[0].after


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("KRN009", sequences(norms, 0.0099)) == []
    assert len(drafts("KRN009", sequences(norms, 0.01))) == 1
    assert drafts("KRN009", sequences(norms, 0.2, count=0)) == []


def test_without_operations_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN009", {})
