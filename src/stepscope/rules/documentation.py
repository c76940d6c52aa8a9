"""The documentation page of a rule: its headings, thresholds and links."""

from __future__ import annotations

import re
from typing import Final

from stepscope.rules.rule import Registered
from stepscope.rules.translated import translation

#: In this order, each followed by at least one sentence.
HEADINGS: Final = ("What it finds", "Why it matters", "How it decides", "What to try", "Known limits")


def sections(registered: Registered) -> dict[str, str]:
    """Text below each heading of a rule's documentation."""
    parts = re.split(r"^## +(.+?) *$", registered.documentation, flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def page(registered: Registered, language: str = "en") -> str:
    """The rule's page, Markdown: its documentation and its thresholds.

    Args:
        registered: The rule.
        language: One of `stepscope.language.LANGUAGES`; the page is English where it is not translated, as is that of a
            rule of a plug-in.
    """
    rule = registered.rule
    own = registered.module.startswith("stepscope.rules.")
    if language != "en" and own and (other := translation("rules", rule.code, language)):
        return other
    lines = [f"# {rule.code}: {rule.name}", "", f"Family: {registered.family}.", "", registered.documentation, ""]
    lines += ["## Thresholds", ""]
    if rule.thresholds:
        lines += ["| threshold | default | unit | why |", "|---|---|---|---|"]
        lines += [f"| `{t.name}` | {t.default:g} | {t.unit} | {t.why} |" for t in rule.thresholds]
        first = rule.thresholds[0]
        lines += ["", f"Set with `--set {rule.code}.{first.name}=VALUE`, or in `stepscope.toml`:", "", "```toml"]
        lines += [f"[rules.{rule.code}]", f"{first.name} = {first.default:g}", "```"]
    else:
        lines.append("None.")
    if rule.symptom_of:
        lines += ["", "Shown below " + ", ".join(f"[{code}]({code}.md)" for code in rule.symptom_of) + " where those"]
        lines[-1] += " find the cause."
    return "\n".join(lines) + "\n"


def as_json(registered: Registered) -> dict[str, object]:
    """The rule's documentation as JSON values."""
    rule = registered.rule
    return {
        "code": rule.code,
        "name": rule.name,
        "family": registered.family,
        "title": registered.title,
        "documentation": sections(registered),
        "thresholds": [{"name": t.name, "default": t.default, "unit": t.unit, "why": t.why} for t in rule.thresholds],
        "symptom_of": list(rule.symptom_of),
        "module": registered.module,
    }
