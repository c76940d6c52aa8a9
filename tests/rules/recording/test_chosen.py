from __future__ import annotations

from recording_support import advised
from rule_support import figures
from stepscope.rules.recording.chosen import MOST
from stepscope.rules.registry import all_rules
from stepscope.signals.recording import recording
from stepscope.signals.recording.enough import Verdict, verdict
from stepscope.signals.recording.recording import KINDS

CODES = [code for code in all_rules() if code.startswith("REC")]


def test_all_rules_together_advise_the_three_weightiest() -> None:
    gaps = {kind: 1.0 + position / 100 for position, kind in enumerate(KINDS)}
    said = [code for code in CODES if advised(code, gaps)]
    assert len(said) == MOST
    assert said == ["REC007", "REC008", "REC009"]


def test_equal_weights_keep_the_order_of_usefulness() -> None:
    said = [code for code in CODES if advised(code, dict.fromkeys(KINDS, 1.0))]
    assert said == ["REC001", "REC002", "REC003"]


def test_every_kind_of_gap_has_its_rule() -> None:
    assert all(sum(bool(advised(code, {kind: 1.0})) for code in CODES) == 1 for kind in KINDS)


def test_ranks_with_the_gap_are_named_and_the_largest_weight_counts() -> None:
    (draft,) = advised("REC007", {"shapes": 0.2}, {}, {"shapes": 0.4})
    assert draft.ranks == (0, 2)
    assert draft.numbers == {recording.gaps.name: 0.4}
    assert {"40.0 %"} <= set(figures(draft.summary))


def test_where_events_were_taken_out_nothing_is_advised_for_idle_time() -> None:
    gaps = {"stacks": 0.4, "steps": 0.5, "ranks": 0.2}
    for kind, codes in (("thinned", ["REC006"]), ("", ["REC005", "REC006", "REC008"])):
        given = {verdict: Verdict(kind, "1.")}
        assert [code for code in CODES if advised(code, gaps, given=given) and code != "REC013"] == codes
