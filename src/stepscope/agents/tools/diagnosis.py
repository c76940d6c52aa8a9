"""Findings with evidence and price, and how rules decide."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from stepscope.agents.amounts import time_of
from stepscope.agents.bounds import page, short
from stepscope.agents.opened import Recordings
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.rules import documentation, remedies
from stepscope.rules.finding import FAMILIES, Finding
from stepscope.rules.registry import all_rules

_COLUMNS = ("code", "family", "severity", "title", "saves_ns", "share_of_step", "confidence", "what_to_do")


class FindingTools:
    """Tools about what is slow, why, and what to change."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    def findings(self, recording: str = "", family: str = "", limit: int = 20, offset: int = 0) -> Any:
        """The findings, the most expensive first: what is wrong, what the typical step would save (ns), what to do.

        Args:
            recording: Name from `recordings`.
            family: Only of one family, for example data, communication, memory; empty for all.
            limit: Rows to give.
            offset: Rows to leave out before.
        """
        if family and family not in FAMILIES:
            raise UserError(said("no family is called {family!r}", family=family), hint=choose(family, FAMILIES))
        opened = self._recordings.get(recording)
        chosen = [one for one in opened.report.findings if family in ("", one.family)]
        rows = [
            (one.code, one.family, one.severity, one.title, one.cost_ns, one.share, one.confidence,
             one.actions[0].text if one.actions else "")
            for one in chosen
        ]  # fmt: skip
        call = f"findings(recording={opened.name!r}, family={family!r}, limit={limit}, offset={{offset}})"
        columns = [{"name": name, "unit": "ns" if name.endswith("_ns") else ""} for name in _COLUMNS]
        return page(columns, rows, limit, offset, call)

    def finding(self, code: str, recording: str = "", which: int = 0) -> Any:
        """One finding whole: what was seen, its price, what it rests on (events, steps, rows, numbers), and remedies.

        Args:
            code: Of the rule, for example DAT001, as in `findings`.
            recording: Name from `recordings`.
            which: Of several findings of one rule, the position among them, from 0.
        """
        opened = self._recordings.get(recording)
        codes = [one.code for one in opened.report.findings]
        chosen = [one for one in opened.report.findings if one.code == code.upper()]
        if not 0 <= which < len(chosen):
            hint = (
                choose(code, dict.fromkeys(codes), "call `findings`") if not chosen else said("give a smaller `which`")
            )
            raise UserError(
                said("{name} has {count} findings of {code}", name=opened.name, count=len(chosen), code=code), hint=hint
            )
        return {**_whole(chosen[which]), "of_this_rule": len(chosen), "next": f"rule(name={code.upper()!r})"}

    def rule(self, name: str = "") -> Any:
        """How a rule decides, with its thresholds and limits, or a page on a remedy; without a name, all of both.

        Args:
            name: Code or name of a rule, or name of a remedy.
        """
        known = all_rules()
        if not name:
            return {
                "rules": {code: registered.title for code, registered in known.items()},
                "remedies": remedies.names(),
            }
        if (found := known.get(name.upper())) is not None:
            return documentation.as_json(found)
        if (found := next((each for each in known.values() if each.rule.name == name), None)) is not None:
            return documentation.as_json(found)
        if name in remedies.names():
            return {"remedy": name, "text": remedies.text(name)}
        hint = choose(name, (*known, *remedies.names()), "call `rule` without a name")
        raise UserError(said("no rule or remedy is called {name!r}", name=name), hint=hint)


def _whole(found: Finding) -> dict[str, Any]:
    evidence = asdict(found.evidence)
    return {
        "code": found.code,
        "family": found.family,
        "severity": found.severity,
        "title": found.title,
        "summary": found.text,
        "saves": time_of(found.cost_ns, found.share),
        "takes": time_of(found.taken_ns),
        "confidence": found.confidence,
        "evidence": {
            name: [short(one) for one in value[:20]] if isinstance(value, (list, tuple)) else value
            for name, value in evidence.items()
            if value
        },
        "actions": [
            {name: value for name, value in asdict(one).items() if value and name != "needs"} for one in found.actions
        ],
        "cause_of": list(found.symptoms),
    }
