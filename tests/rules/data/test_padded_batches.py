from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from readers.kineto_text import document, op, opened
from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.rules.rule import Draft
from stepscope.signals.data import padding
from stepscope.signals.data.padding import Padding


def _found(padded: float, batches: int = 2) -> list[Draft]:
    told = Padding(batches, 8 * batches, 512.0, 512 * (1 - padded), padded, np.array([1]))
    return drafts("DAT009", {padding.padding: told})


def test_padding_is_told_with_the_lengths() -> None:
    (draft,) = _found(0.25)
    assert {"25.0 %", "2", "384", "512"} <= set(figures(draft.summary))


@pytest.mark.parametrize(("padded", "batches"), [(0.249, 2), (0.9, 1)])
def test_little_padding_or_one_batch_is_left_alone(padded: float, batches: int) -> None:
    assert _found(padded, batches) == []


def test_without_lengths_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT009", {})


def test_lengths_are_read_from_what_is_padded(tmp_path: Path) -> None:
    shapes = [[[[30, 8], [10, 8]], [], []], [[[20, 8], [20, 8]], [], []], [[], [], []]]
    calls = [op("aten::pad_sequence", 10 * i, args={"Input Dims": one}) for i, one in enumerate(shapes, 1)]
    with opened(document(*calls, json.dumps({"ph": "M", "name": "x"})), tmp_path) as trace:
        assert findings("DAT009", trace) == []  # 20 of 100 is padding
    with opened(document(*calls[:1], calls[0].replace('"ts": 10', '"ts": 90')), tmp_path) as trace:
        (finding,) = findings("DAT009", trace)
    assert {"33.3 %", "20", "30"} <= set(figures(finding.summary))


def test_kernels_of_devices_are_no_advice_for_a_program_without_one() -> None:
    (draft,) = _found(0.25)
    kept = {
        platform: [
            action.after
            for action in fitting(draft.actions, Program(platform=platform, framework="pytorch", language="python"))
        ]
        for platform in ("cuda", "cpu")
    }
    assert ["flash_attn" in one for one in kept["cuda"]].count(True) == 1
    assert kept["cpu"] == ["batch = sorted(waiting, key=len)[:size]"]
