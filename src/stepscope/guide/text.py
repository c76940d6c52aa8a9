"""The guide as text: a place, a walk, and the whole tree as Markdown."""

from __future__ import annotations

from stepscope.guide.node import GuidePlace
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.guide.walk import Walk


def page(node: GuidePlace, recording: str = "RECORDING") -> str:
    """A place: what to ask, what to run, where to turn, what to set."""
    lines = [node.title, "", node.question, "", "Run:"]
    lines += [f"    {command.replace('RECORDING', recording)}" for command in node.commands]
    if node.turns:
        lines += ["", "Then:"]
        lines += [f"  {seen}: stepscope guide {to}" for seen, to in node.turns]
    if node.settings:
        lines += ["", "Settings:", *(f"  {one}" for one in node.settings)]
    if node.remedies:
        lines += ["", "More: " + ", ".join(f"stepscope rules {name}" for name in node.remedies)]
    return "\n".join(lines)


def walked(way: Walk, recording: str) -> str:
    """The way that a recording's numbers lead, fork by fork, and what to do at its end."""
    lines = []
    for number, turn in enumerate(way.turns, 1):
        lines += [f"{number}. {turn.at.title}: {turn.at.question}", f"   turns to {turn.to.key}, because {turn.why}"]
    lines.append("")
    finding = way.finding
    if finding is not None:
        lines += [f"{finding.code} {finding.title}", f"  {finding.summary}"]
        lines += [f"  do: {one.text}" for one in finding.actions[:3]]
        lines += [f"  its page: stepscope rules {finding.code}", ""]
    lines += [page(way.end, recording), "", "Record again after the change, and check the gain:"]
    lines.append(f"    stepscope compare {recording} NEW")
    return "\n".join(lines)


def markdown() -> str:
    """The whole tree."""
    lines: list[str] = []
    for node in TREE:
        lines += [f"## {node.title}", "", f"`stepscope guide {node.key}`. {node.question}", ""]
        lines += [f"Users say: {', '.join(node.symptoms)}.", ""]
        lines += [f"    {command}" for command in node.commands]
        if node.turns:
            lines += ["", "| what is seen | go to |", "|---|---|"]
            lines += [f"| {seen} | {BY_KEY[to].title} |" for seen, to in node.turns]
        if node.settings:
            lines += ["", *(f"* {one}" for one in node.settings)]
        if node.remedies:
            lines += ["", "Remedies: " + ", ".join(f"[{name}](remedies/{name}.md)" for name in node.remedies) + "."]
        lines.append("")
    return "\n".join(lines).rstrip()
