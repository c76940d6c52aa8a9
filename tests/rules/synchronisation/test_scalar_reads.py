from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.signals.host import host
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.host.reads import Reads, number_reads
from stepscope.signals.shared import job, program
from support import Facts


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
    reads = Reads(np.array([70]), np.array([80]), 4_000, Intervals(np.array([5]), np.array([7])))
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
    # Others may be symptoms of waiting, and of what the host does for reading.
    assert draft.explaining is not None
    assert (draft.explaining.unblocked.tolist(), draft.explaining.host, draft.explaining.device) == ([0, 2], (), ())
    assert [(part.starts.tolist(), part.ends.tolist()) for part in draft.explaining.time] == [([5], [7])]
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


@pytest.mark.parametrize(("refill", "most"), [(300, 300), (9_000, 4_500)])
def test_what_the_host_does_for_long_in_between_is_not_its_price(refill: int, most: int) -> None:
    (draft,) = drafts("SYN002", {**given(2.0, "scalar", "device", "result"), host.refill_ns: refill})
    assert draft.most_ns == most


def test_a_read_in_every_third_step_just_misses() -> None:
    assert drafts("SYN002", given(0.49)) == []
    assert len(drafts("SYN002", given(0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN002", {})


def _reading(read_ns: int, call_ns: int) -> list[tuple[str, float]]:
    """First findings of steps of short kernels and of reads of a number, and their shares of the step.

    Args:
        read_ns: Time of each operator outside of its calls.
        call_ns: Time of each call that waits, though the device has nothing to do.
    """
    facts, period = Facts(), 220_000 + read_ns + call_ns
    for number in range(4):
        facts.step(number, number * 5 * period, 5 * period)
        for at in range(number * 5 * period, (number + 1) * 5 * period, period):
            for launched in range(at, at + 200_000, 10_000):
                facts.kernel("add", launched + 8_000, 3_000, launch=(launched, 5_000))
            facts.host("op", "aten::item", at + 212_000, read_ns + call_ns)
            facts.host("op", "aten::_local_scalar_dense", at + 212_000 + read_ns - 4_000, 4_000 + call_ns)
            copied = at + 212_000 + read_ns
            copy = facts.kernel("Memcpy DtoH", copied - 1_500, 1_000, kind="copy", launch=(copied - 3_500, 2_500))
            facts.row("copies", event=copy, direction="DtoH", bytes=4)
            facts.host("sync", "cudaStreamSynchronize", copied, call_ns)
    found = diagnose(facts.trace(), Settings(select=("HST002", "SYN002")), strict=True).findings
    return [(one.code, one.share or 0) for one in found]


def test_short_kernels_are_no_symptom_of_what_calls_take_that_wait_for_nothing() -> None:
    found = dict(_reading(read_ns=5_000, call_ns=150_000))
    assert set(found) == {"SYN002", "HST002"}
    assert min(found.values()) > 0.2


def test_launches_that_are_late_for_the_operators_of_reads_are_their_symptom() -> None:
    assert [code for code, _ in _reading(read_ns=350_000, call_ns=5_000)] == ["SYN002"]
