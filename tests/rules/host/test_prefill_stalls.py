from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.shared import serving
from support import Facts

MS = 1_000_000


def given(*waits: tuple[int, int], decode: int = 3, usual: int = 10 * MS) -> dict[object, object]:
    rows = [{"device_ns": usual} for _ in range(decode)]
    return {
        serving.stalls: [serving.Stall(ns, tokens, 7, 5, False) for ns, tokens in waits],
        serving.decode_ns: usual,
        serving.decoding: rows,
        serving.passes: [*rows, *({"device_ns": ns} for ns, _ in waits)],
    }


def test_a_long_wait_is_told_with_what_chunks_would_make_of_it() -> None:
    (draft,) = drafts("HST024", given((200 * MS, 4096)))
    assert {"7", "200 ms", "4,096", "10.0 ms", "35.0 ms"} <= set(figures(draft.summary))
    assert draft.cost_ns is None


def test_shorter_rarer_or_unmeasured_waits_just_miss() -> None:
    assert drafts("HST024", given((50 * MS - 1, 4096))) == []
    assert len(drafts("HST024", given((50 * MS, 4096)))) == 1
    assert drafts("HST024", given((50 * MS, 4096), decode=46)) == []
    assert drafts("HST024", given((200 * MS, 4096), decode=2)) == []


def test_a_wait_for_no_more_than_a_chunk_just_misses() -> None:
    assert drafts("HST024", given((200 * MS, 512))) == []
    assert len(drafts("HST024", given((200 * MS, 513)))) == 1


def test_wording_where_engines_tell_no_tokens() -> None:
    (draft,) = drafts("HST024", given((200 * MS, 0)))
    assert "waited 200 ms for prompts" in draft.summary
    assert "0" not in figures(draft.summary)


def test_only_requests_that_go_on_have_waited() -> None:
    def trace(last: int) -> Signals:
        facts = Facts()
        names = [f"context_0(0)_generation_{n}({n})" for n in (2, 2, 2)]
        names += ["context_2(900)_generation_0(0)", f"context_0(0)_generation_{last}({last})"]
        for i, name in enumerate(names):
            facts.host("annotation", f"execute_{name}", i * MS, 900_000)
            facts.kernel("sgemm", i * MS + 100_000, 800_000 if i == 3 else 100_000, launch=(i * MS + 50_000, 500))
        return Signals.of(facts.trace())

    (stall,) = trace(4)(serving.stalls)
    assert (stall.ns, stall.tokens, stall.waiting, stall.ts) == (800_000, 900, 2, 3 * MS)
    # Those of before may all have ended: nobody waited for certain.
    assert trace(2)(serving.stalls) == []


def test_a_pass_of_both_keeps_its_answers_waiting() -> None:
    facts = Facts()
    for i, name in enumerate(("0(0)_generation_2(2)", "0(0)_generation_2(2)", "1(700)_generation_2(2)")):
        facts.host("annotation", f"execute_context_{name}", i * MS, 900_000)
        facts.kernel("sgemm", i * MS + 100_000, 800_000 if i == 2 else 100_000, launch=(i * MS + 50_000, 500))
    (stall,) = Signals.of(facts.trace())(serving.stalls)
    assert (stall.ns, stall.tokens, stall.waiting, stall.mixed) == (700_000, 700, 2, True)


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST024", {})
