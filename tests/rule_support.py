"""What tests of rules need: what a rule says of given signals, and of small traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.model.trace import Trace
from stepscope.rules.engine import diagnose, drafts_of
from stepscope.rules.finding import Finding
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft
from stepscope.rules.settings import Settings
from stepscope.signals import Signals


def drafts(code: str, given: Mapping[Any, Any], limits: Mapping[str, float] | None = None) -> list[Draft]:
    """What a rule of one rank says of signals with these values; it raises where another is read."""
    return drafts_of(all_rules()[code], Signals(0, given), limits)


def findings(code: str, trace: Trace) -> list[Finding]:
    """What a rule finds in a trace, shown or not."""
    return list(diagnose(trace, Settings(select=(code,)), strict=True).findings)
