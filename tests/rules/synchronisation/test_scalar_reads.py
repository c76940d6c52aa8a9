from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.host.reads import Reads, number_reads
from stepscope.signals.shared import job, program


def given(rate: float, *kinds: str) -> dict[object, object]:
    kinds = kinds or ("scalar",)
    n = len(kinds)
    calls = sync.Blocking(
        np.arange(n),
        np.arange(n) * 1000,
        np.full(n, 500),
        np.array([sync.KINDS.index(kind) for kind in kinds], np.int8),
        np.zeros(n, np.bool_),
    )
    place = sync.WaitPlace("cudaStreamSynchronize", "aten::_local_scalar_dense", "loss", None, n, 500 * n)
    other = sync.WaitPlace("cudaDeviceSynchronize", None, None, "elsewhere.py(1): f", 1, 900)
    reads = Reads(np.array([70]), np.array([80]), 4_000)
    return {
        number_reads: reads,
        sync.scalar_reads: rate,
        sync.calls: calls,
        sync.places: (other, place),
        job.recorded_steps: 1,
    }


def test_reads_are_found_with_their_place_and_only_theirs_are_unblocked() -> None:
    (draft,) = drafts("SYN002", given(2.0, "scalar", "device", "result"))
    assert {"2"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [0, 2]
    assert [part.events.tolist() for part in draft.change.host + draft.change.device] == [[70], [80]]
    assert {"4.50 µs"} <= set(figures(draft.summary))
    assert draft.most_ns == 4_500


def test_the_first_advice_fits_what_is_read() -> None:
    (number,) = drafts("SYN002", given(2.0, "scalar", "scalar", "result"))
    (size,) = drafts("SYN002", given(2.0, "scalar", "result", "result"))
    assert ".item()" in number.actions[0].before
    assert "mask" in size.actions[0].before


def test_generation_has_no_loss_to_add_up() -> None:
    (draft,) = drafts("SYN002", {**given(2.0), job.infers: True, program.generates: True})
    assert "eos" in draft.actions[0].after
    assert not any("loss" in action.before for action in draft.actions)


def test_other_inference_reads_results_of_several_inputs() -> None:
    (draft,) = drafts("SYN002", {**given(2.0), job.infers: True, program.generates: False})
    assert "inputs" in draft.actions[0].before


def test_a_read_in_every_third_step_just_misses() -> None:
    assert drafts("SYN002", given(0.49)) == []
    assert len(drafts("SYN002", given(0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN002", {})
