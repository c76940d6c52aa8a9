"""The findings: what is slow, why, what to change, and the estimated saving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, plural
from stepscope.reports.blocks import Item, Line, Remedy, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps
from stepscope.reports.sections.snapshot import is_snapshot, verdict
from stepscope.reports.text import cut, visible
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Finding
from stepscope.signals.host.longest_gaps import IdleGap

_TONES: Final = {"high": "error", "medium": "warning", "low": "info", "advice": "plain"}
_FATES: Final = {"": said("advice"), "failed": said("failed"), "will fail": said("will fail")}
#: Least number of findings shown, whatever the number of rows asked for.
_FEW: Final = 8
#: Smaller shares are not listed.
_LEAST: Final = 0.01
#: Ranks that wait for less of a step hardly wait for each other.
_WAITING: Final = 0.1
#: Ranks whose steps differ in length by less have the same step.
_ALIKE: Final = 0.01
#: The rule that says that too few steps are recorded.
_FEW_STEPS: Final = "REC005"
_STARTED_LATE: Final = said(
    "a recording's first collective waits for the ranks on which the profiler started last: record more steps"
)


def findings(report: Contents, top: int) -> Section:
    """The findings worth showing, or that there are none."""
    diagnosis = report.diagnosis
    if diagnosis is None or not (diagnosis.asked or diagnosis.findings):
        return Section("Findings", ())
    shown = diagnosis.shown if not report.all_findings else diagnosis.findings
    step = diagnosis.step_ns
    kept = shown if report.all_findings else shown[: max(top, _FEW)]
    looks = is_snapshot(report)
    marked = has_steps(report)
    per_step = said(" per step") if marked else ""
    blocks: list[Item | Line] = [item_of(one, number, per_step, looks) for number, one in enumerate(kept, 1)]
    if looks:
        known = verdict(report)
        blocks[:0] = [] if known is None else [known]
    else:
        blocks[:0] = _verdict(diagnosis, marked)
    if len(shown) > len(kept):
        blocks.append(
            Line(said("{findings} in the JSON report", findings=plural(len(shown) - len(kept), "more finding")))
        )
    hidden = len(diagnosis.findings) - len(shown)
    of = said("the step") if marked else said("the time")
    if hidden:
        blocks.append(
            Line(
                said("{findings} below 1 % of {of} not shown", findings=plural(hidden, "finding"), of=of),
                "--all shows them",
            )
        )
    return Section("Findings", tuple(blocks), aside="" if looks else _aside(report, kept, step, marked))


def _verdict(diagnosis: Diagnosis, marked: bool) -> Iterator[Line]:
    """Whether the job is healthy; if not, and no finding explains it, where its time goes."""
    of = said("the step") if marked else said("the time")
    looked = said("{rules} looked", rules=plural(diagnosis.asked, "rule"))
    if diagnosis.healthy:
        computed = min(1 - one.lost for one in diagnosis.accounts.values())
        text = said(
            "the device computes for {computed} of {of}, and no rule found a saving of 1 % ({looked})",
            computed=percent(computed), of=of, looked=looked,
        )  # fmt: skip
        yield Line(text, tone="good")
        return
    one, explained = diagnosis.unexplained, diagnosis.explained
    if one is not None and one.lost >= _LEAST:
        parts = (
            (one.idle, said("idle")), (one.communication, said("communication alone")),
            (one.copies, said("copies alone")),
        )  # fmt: skip
        lost = listing(
            said("{share} {part}", share=percent(share), part=name) for share, name in parts if share >= _LEAST
        )
        causes = listing(said("{cause} {share}", cause=cause, share=percent(share)) for cause, share in one.causes)
        rank = next(rank for rank, account in diagnosis.accounts.items() if account is one)
        device = said("the device of rank {rank}", rank=rank) if len(diagnosis.accounts) > 1 else said("the device")
        why = said("no rule explains it")
        if explained:
            why = said("the findings account for {explained} of it", explained=percent(explained))
        text = said(
            "{device} computes nothing for {share} of {of} ({parts}), and {why} ({looked})",
            device=device, share=percent(one.lost), of=of, parts=lost, why=why, looked=looked,
        )  # fmt: skip
        yield Line(text, said("idle for: {causes}", causes=causes) if causes else "", "warning")
        yield from _waiting(diagnosis, of)
        if one.idle >= _LEAST and one.gaps:
            yield Line(said("the longest gaps: {gaps}", gaps=listing(map(_gap, one.gaps), "; ")), tone="info")
    elif one is not None:
        yield Line(said("no rule found a saving of 1 % of {of} ({looked})", of=of, looked=looked), tone="plain")
    if one is not None and not one.known_device:
        yield Line("the device is not in the device table: its kernels were not compared with its peaks", tone="info")
    if not diagnosis.accounts and not diagnosis.shown:
        yield Line(
            said("no rule found anything, but none could judge the device's time ({looked})", looked=looked),
            tone="info",
        )


def _waiting(diagnosis: Diagnosis, of: str) -> Iterator[Line]:
    """Which rank waits longest for others in collectives and which least, where no finding says who is late."""
    if len(diagnosis.accounts) < 2 or any(one.family == "cluster" for one in diagnosis.shown):
        return
    shares = sorted((account.waiting, rank) for rank, account in diagnosis.accounts.items())
    (least, last), (most, first) = shares[0], shares[-1]
    if most < _WAITING:
        return
    text = said(
        "ranks wait for each other in collectives: rank {first} for {most} of {of}, rank {last}, the least, for "
        "{least}",
        first=first, most=percent(most), of=of, last=last, least=percent(least),
    )  # fmt: skip
    few = any(one.code == _FEW_STEPS for one in diagnosis.shown)
    yield Line(text, _STARTED_LATE if few else "", "info")


def _gap(gap: IdleGap) -> str:
    """`3.00 ms (4 times) after flash_fwd_kernel, before elementwise_kernel<add>`."""
    times = said(" ({count:,} times)", count=gap.count) if gap.count > 1 else ""
    sides = ((gap.after, _after), (gap.before, _before))
    where = listing(side(visible(cut(name, 40))) for name, side in sides if name)
    return (
        said("{duration}{times} {where}", duration=duration(gap.dur_ns), times=times, where=where)
        if where
        else (said("{duration}{times}", duration=duration(gap.dur_ns), times=times))
    )


def _after(name: str) -> str:
    return said("after {name}", name=name)


def _before(name: str) -> str:
    return said("before {name}", name=name)


def _aside(report: Contents, kept: tuple[Finding, ...], step: int | None, marked: bool) -> str:
    priced = [finding for finding in kept if finding.cost_ns]
    if not priced or not step:
        return ""
    lengths = [finding.cost_ns / finding.share for finding in priced if finding.cost_ns and finding.share]
    if marked and any(abs(length - step) > _ALIKE * step for length in lengths):
        return said("prices are estimated savings of a step of the rank that each costs most, or that others wait for")
    whole = (
        said("{step} of use of the device", step=duration(step))
        if report.rows("step_budget")
        else said("the {step} recorded", step=duration(step))
    )
    what = said("a step of {step}", step=duration(step)) if marked else whole
    return said("prices are estimated savings of {what}", what=what)


def item_of(finding: Finding, number: int = 0, per_step: str = "", looks: bool = False) -> Item:
    """A finding as it is shown.

    Args:
        finding: The finding.
        number: Its place among those that are shown; 0 where it stands alone.
        per_step: What to add to its price: of what it is, where that is known.
        looks: Whether the report is of a memory snapshot, whose history need not consist of steps.
    """
    worth: str = _FATES[finding.fate]
    if finding.cost_ns is not None:
        worth = duration(finding.cost_ns)
        if finding.share is not None:
            share = percent(finding.share)
            worth = (
                said("{share} of the time", share=share)
                if looks
                else said("{time}{per_step}, {share}", time=worth, per_step=per_step, share=share)
            )
    elif finding.recorded_share is not None:
        worth = said("{recorded_share} of the recording", recorded_share=percent(finding.recorded_share))
    where = finding.evidence.ranks
    if len(where) > 1:
        worth = said("{worth}, {ranks}", worth=worth, ranks=plural(len(where), "rank"))
    return Item(
        number=number,
        code=finding.code,
        title=visible(finding.title),
        worth=worth,
        text=visible(finding.text),
        remedies=tuple(Remedy(visible(a.text), _lines(a.before), _lines(a.after), a.page) for a in finding.actions),
        inspect=visible(finding.inspect),
        also=tuple(visible(symptom) for symptom in finding.symptoms),
        page=f"docs/rules/{finding.code}.md",
        tone=_TONES[finding.severity],
    )


def _lines(code: str) -> tuple[str, ...]:
    return tuple(visible(line) for line in code.splitlines())
