"""The guide as text: a place, a walk, and the whole tree as Markdown."""

from __future__ import annotations

from stepscope.guide.node import GuidePlace
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.guide.walk import Walk
from stepscope.language import listing, said, told


def page(node: GuidePlace, recording: str = "RECORDING") -> str:
    """A place in the language that is spoken: what to ask, what to run, where to turn, what to set."""
    lines = [told(node.title), "", told(node.question), "", told(said("Run:"))]
    lines += [f"    {command.replace('RECORDING', recording)}" for command in node.commands]
    if node.turns:
        lines += ["", told(said("Then:"))]
        turns = [said("{seen}: {command}", seen=told(seen), command=_guide(to)) for seen, to in node.turns]
        lines += [f"  {told(turn)}" for turn in turns]
    if node.settings:
        lines += ["", told(said("Settings:")), *(f"  {told(one)}" for one in node.settings)]
    if node.remedies:
        pages = ", ".join(f"stepscope rules {name}" for name in node.remedies)
        lines += ["", told(said("More: {pages}", pages=pages))]
    return "\n".join(lines)


def walked(way: Walk, recording: str) -> str:
    """The way that a recording's numbers lead, fork by fork, and what to do at its end."""
    lines = []
    for number, turn in enumerate(way.turns, 1):
        asked = said("{place}: {question}", place=told(turn.at.title), question=told(turn.at.question))
        lines.append(f"{number}. {told(asked)}")
        lines.append(f"   {told(said('turns to {key}, because {why}', key=turn.to.key, why=turn.why))}")
    lines.append("")
    finding = way.finding
    if finding is not None:
        lines += [f"{finding.code} {told(finding.title)}", f"  {told(finding.summary)}"]
        lines += [f"  {told(said('do: {action}', action=told(one.text)))}" for one in finding.actions[:3]]
        lines += [f"  {told(said('its page: {command}', command=f'stepscope rules {finding.code}'))}", ""]
    lines += [page(way.end, recording), "", told(said("Record again after the change, and check the gain:"))]
    lines.append(f"    stepscope compare {recording} NEW")
    return "\n".join(lines)


def markdown() -> str:
    """The whole tree, in the language that is spoken."""
    lines: list[str] = []
    for node in TREE:
        head = said("`{command}`. {question}", command=_guide(node.key), question=told(node.question))
        lines += [f"## {told(node.title)}", "", told(head), ""]
        lines += [told(said("Users say: {words}.", words=", ".join(node.symptoms))), ""]
        lines += [f"    {command}" for command in node.commands]
        if node.turns:
            lines += ["", told(said("| what is seen | go to |")), "|---|---|"]
            lines += [f"| {told(seen)} | {told(BY_KEY[to].title)} |" for seen, to in node.turns]
        if node.settings:
            lines += ["", *(f"* {told(one)}" for one in node.settings)]
        if node.remedies:
            pages = listing(said("[{name}](remedies/{name}.md)", name=name) for name in node.remedies)
            lines += ["", told(said("Remedies: {pages}.", pages=pages))]
        lines.append("")
    return "\n".join(lines).rstrip()


def _guide(key: str) -> str:
    return f"stepscope guide {key}"
