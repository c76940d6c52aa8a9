from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, makeup
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.snapshots import peak_makeup, peak_parts
from stepscope.signals.snapshots.peak_makeup import Holder
from stepscope.signals.snapshots.peak_parts import PeakPart


def given(trains: bool = True, **purposes: int) -> dict[object, object]:
    return {peak_makeup.makeup: makeup(**purposes), peak_makeup.trains: trains}


def test_activations_of_training_are_found_with_the_makeup() -> None:
    (draft,) = drafts("MEM014", given(activations=16 * GIB, optimizer_state=4 * GIB))
    assert {"20.0 %", "20.0 GiB", "80.0 %"} <= set(figures(draft.summary))
    assert {"16.0 GiB", "80.0 %"} <= set(figures(draft.summary))
    assert "checkpoint" in draft.actions[0].after


def test_inference_and_what_lives_briefly_do_not_count() -> None:
    assert drafts("MEM014", given(trains=False, activations=16 * GIB)) == []
    assert drafts("MEM014", given(temporaries=16 * GIB)) == []


def kept(bytes_: int = 12 * GIB, count: int = 72, lines: int = 4) -> dict[object, object]:
    held = tuple(Holder(f"/home/me/model.py({n}): forward", bytes_ // lines, count // lines, 1) for n in range(lines))
    return {
        peak_parts.kept_by_forward: PeakPart(bytes_, count, held, 13 * GIB, 2 * GIB),
        **given(trains=False, activations=12 * GIB, parameters=GIB),
    }


def test_what_is_kept_for_no_backward_pass_is_found() -> None:
    (draft,) = drafts("MEM014", kept())
    assert {"13.0 GiB", "2.00 GiB", "92.3 %"} <= set(figures(draft.summary))
    assert "no_grad" in draft.actions[0].after
    assert drafts("MEM014", {**kept(), memory.failures: ({},)}) == []  # it may have ended before its backward pass


def test_few_lines_or_blocks_are_a_cache() -> None:
    assert drafts("MEM014", kept(lines=3)) == []
    assert drafts("MEM014", kept(count=19)) == []
    assert len(drafts("MEM014", kept(count=20))) == 1
    assert drafts("MEM014", kept(bytes_=6 * GIB)) == []


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM014", given(activations=GIB - 1, parameters=GIB)) == []
    assert len(drafts("MEM014", given(activations=GIB, parameters=GIB))) == 1
    assert drafts("MEM014", given(activations=1023 * MIB)) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM014", {})
