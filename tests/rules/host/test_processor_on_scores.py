"""Attention that the processor computes in steps is told by the shapes of its operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.kineto_text import document, op, opened
from rule_support import figures, findings
from stepscope.signals import Signals
from stepscope.signals.alone.plain_attention import plain_attention

MS = 1_000_000


def attention(rows: int = 256, *, taken: bool = True, other_ms: int = 10, shapes: bool = True) -> list[str]:
    """Attention of 2 x 4 heads of so many rows, 6 ms in all, and a multiplication besides."""
    scores, heads = [8, rows, rows], [2, 4, rows, rows]
    calls = [
        ("aten::bmm", 1, [[8, rows, 16], [8, 16, rows]]),
        ("aten::div", 1, [heads, []]),
        ("aten::_softmax", 2, [heads, [], []]),
        ("aten::bmm", 2, [scores if taken else [8, 16, rows], [8, rows, 16]]),
        ("aten::mm", other_ms, [[64, 64], [64, 64]]),
    ]
    texts, at = [], 0
    for name, length, given in calls:
        args = {"Input Dims": given, "Input type": ["float"] * len(given)} if shapes else {}
        texts.append(op(name, at, dur=1_000 * length, args=args))
        at += 1_000 * length
    return texts


@pytest.mark.parametrize(
    ("texts", "own_ms", "advised"),
    [
        (attention(), 6, True),
        (attention(255), 0, False),
        # Nothing is multiplied by what the softmax makes.
        (attention(taken=False), 0, False),
        # It takes less than three tenths of the time.
        (attention(other_ms=15), 6, False),
    ],
    ids=["attention", "small", "no attention", "little"],
)
def test_scores_between_two_multiplications_are_attention(
    tmp_path: Path, texts: list[str], own_ms: int, advised: bool
) -> None:
    with opened(document(*texts), tmp_path) as trace:
        found = Signals.of(trace)(plain_attention)
        (finding,) = findings("HST019", trace)
    assert found.own_ns // MS == own_ms
    assert any("scaled_dot_product" in action.after for action in finding.actions) == advised
    assert ("256" in figures(finding.summary)) == advised


def test_without_shapes_nothing_is_known_of_attention(tmp_path: Path) -> None:
    with opened(document(*attention(shapes=False)), tmp_path) as trace:
        assert Signals.of(trace).maybe(plain_attention) is None
        assert len(findings("HST019", trace)) == 1
