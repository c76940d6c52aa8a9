from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job, ran_on

MS = 1_000_000


def given(
    took_ms: int = 60, where: str = "cpu", *, sure: bool = True, listed: str = "Tesla T4"
) -> dict[object, object]:
    found = ran_on.RanOn(where, "aten::mkldnn_convolution", took_ms * MS, 80 * MS, sure, listed)  # type: ignore[arg-type]
    return {ran_on.ran_on: found, job.span_ns: 100 * MS, job.platform: "cuda"}


def test_a_model_on_the_processor_beside_a_device_is_found() -> None:
    (draft,) = drafts("HST019", given())
    assert {"80.0 ms", "60.0 ms", "75.0 %"} <= set(figures(draft.summary))
    assert "Tesla T4" in draft.summary
    assert 'to("cuda")' in draft.actions[0].after
    assert (draft.cost_ns, draft.placed_as_ns) == (None, 60 * MS)


def test_what_only_times_tell_is_called_inferred() -> None:
    (draft,) = drafts("HST019", given(sure=False))
    assert "inferred" in draft.summary
    assert draft.confidence < drafts("HST019", given())[0].confidence


def test_without_a_device_a_job_on_the_processor_is_as_it_should_be() -> None:
    assert drafts("HST019", given(listed="")) == []
    assert drafts("HST019", given(where="device")) == []


def test_a_small_part_is_one_beside_others() -> None:
    assert drafts("HST019", given(29)) == []
    assert len(drafts("HST019", given(30))) == 1


def test_with_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST019", {})
