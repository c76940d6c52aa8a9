"""What the page of a comparison shows: the verdict, what it rests on, and what the difference is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepscope.comparison.comparable import RECORDED, RecordedDifference, Tone
from stepscope.comparison.result import Comparison
from stepscope.comparison.summary import SideFacts
from stepscope.comparison.verdict import StepTimes, Verdict
from stepscope.language import listing, pattern, recalled, said
from stepscope.model.amounts import NONE, between, duration, percent, plural
from stepscope.reports.blocks import Figure, Line, Outline, Section
from stepscope.reports.compared.grids import (
    findings_grid,
    memory_grids,
    parts_grid,
    phases_grid,
    split_grids,
    step_scale,
)
from stepscope.reports.compared.level_grids import communication_grid, level_sections, per_call_grid
from stepscope.reports.compared.rank_grids import rank_grids
from stepscope.reports.compared.served_grid import served_grids
from stepscope.reports.compared.steps_grid import steps_grid
from stepscope.reports.text import visible

_TONES: Final[dict[Verdict, str]] = {"faster": "good", "slower": "warning", "same": "plain", "inconclusive": "plain"}
#: Which side lacks something.
_LACKING: Final = {
    "base": pattern("{tables}: of the base side {message}"), "new": pattern("{tables}: of the new side {message}"),
    "both": pattern("{tables}: of both sides {message}"), "between": pattern("{tables}: {message}"),
}  # fmt: skip
#: The verdicts.
_VERDICTS: Final[dict[Verdict, str]] = {
    "faster": said("faster"), "slower": said("slower"), "same": said("same"), "inconclusive": said("inconclusive"),
}  # fmt: skip
#: Said where nothing differs.
_ALIKE: Final = said(
    "No difference was found in what ran, its batch and shapes, devices, ranks, and what was recorded."
)
#: Folders of a path beyond which those in the middle are left out.
_LONG_PATH: Final = 4


def outline(comparison: Comparison, top: int = 10, levels: Sequence[str] = ()) -> Outline:
    """The page, with at most `top` rows in each table.

    Args:
        comparison: What it is about.
        top: Rows shown of each table.
        levels: Levels asked for by name, of which all has a section.
    """
    per = said("per step") if comparison.of_steps else said("of the whole recordings")
    add_up = listing((per, said("the rows add up")), "; ")
    about_compute = listing((per, said("the rows of each table add up to compute")), "; ")
    hidden_or_not = listing((per, said("hidden behind compute or not")), "; ")
    of_ranks = said("a rank's recording without waits for others; growth by part")
    if comparison.of_steps:
        of_ranks = said("a rank's step without waits for others; growth by part")
    # Level overall has one unit throughout.
    scale = step_scale(comparison) if "overall" in levels else None
    made = (
        Section("Can they be compared?", _comparable(comparison)),
        Section("Verdict", (verdict_line(comparison.step_time), *_cause(comparison))),
        Section("How the steps went", steps_grid(comparison), "slow steps are no part of the typical one"),
        Section("What the difference is made of", parts_grid(comparison), add_up),
        Section("Ranks", rank_grids(comparison, top), of_ranks),
        Section("Findings", findings_grid(comparison, top), "prices: what the typical step would save"),
        Section("Memory", memory_grids(comparison, top), "peaks over devices"),
        Section("By phase", phases_grid(comparison, scale), add_up),
        Section("Servers", served_grids(comparison), "device time of passes by role of kernels"),
        Section("Compute", split_grids(comparison, top, scale), about_compute),
        Section("Times per call", per_call_grid(comparison, top), "device time of one call, inner operators included"),
        Section("Communication", communication_grid(comparison, top), hidden_or_not),
        *level_sections(comparison, levels, top, per, scale),
        Section("Not compared", _lacking(comparison)),
    )
    facts = (side_words(comparison.base, said("base")), side_words(comparison.new, said("new")))
    shown = tuple(section for section in made if section.blocks)
    return Outline(_title(comparison), facts, shown, _figures(comparison))


def recording_name(source: str, other: str = "") -> str:
    """The end of a recording's path; as much of it as tells it from another one."""
    mine, others = (one.replace("\\", "/").split("/") for one in (source, other))
    if mine[-2:] != others[-2:] or mine == others:
        return visible("/".join(mine[-2:]))
    alike = next((i for i, (a, b) in enumerate(zip(mine[::-1], others[::-1], strict=False)) if a != b), 2)
    first = max(0, len(mine) - alike - 1)
    return visible("/".join(mine[first:] if len(mine) - first < _LONG_PATH else [mine[first], "…", mine[-1]]))


def side_words(side: SideFacts, name: str) -> str:
    """`base: PyTorch training, 1 × Tesla V100, 6 steps, rank 0 of 2`."""
    of = said("rank {rank} of {ranks}", rank=side.rank, ranks=side.ranks) if side.ranks > 1 else ""
    steps = said("no steps") if side.unit in ("window", "none") else plural(len(side.steps), "step")
    words = listing(filter(None, (recalled(side.program), recalled(side.device), steps, of)))
    return visible(said("{side}: {words}", side=name, words=words))


def verdict_line(times: StepTimes) -> Line:
    """The verdict with both step times and the reason."""
    rated = times.interval is not None and times.interval.method == "rates"
    base, new = times.every or (times.base_ns, times.new_ns)
    span = "" if rated or times.interval is None else f"{duration(base)} → {duration(new)}"
    reason = listing(filter(None, (span, times.reason)), "; ")
    return Line(
        said("{verdict}: {reason}", verdict=_VERDICTS[times.verdict], reason=reason), tone=_TONES[times.verdict]
    )


def _cause(comparison: Comparison) -> tuple[Line, ...]:
    """What the difference comes from, as far as that is certain."""
    return (Line(visible(comparison.cause)),) if comparison.cause else ()


def comparable_lines(different: Sequence[RecordedDifference]) -> tuple[Line, ...]:
    """A line for each thing that differs between the recordings, or for several that do so in the same way."""
    by: dict[tuple[str, str, str, Tone], list[str]] = {}
    for one in different:
        by.setdefault((one.base, one.new, one.effect, one.tone), []).append(one.what)
    lines = (
        Line(said("{what}: {sides}", what=_together(what), sides=_beside(base, new)), effect, tone)
        for (base, new, effect, tone), what in by.items()
    )
    return tuple(lines) or (Line(_ALIKE, tone="plain"),)


def _together(what: Sequence[str]) -> str:
    """`recorded: input shapes, call stacks`."""
    return listing((what[0], *(RECORDED.get(one, one) for one in what[1:])))


def _beside(base: str, new: str) -> str:
    if not new:
        return visible(recalled(base))
    values = {"base": recalled(base), "new": recalled(new)}
    if "," in base + new:
        return visible(said("base {base}; new {new}", **values))
    return visible(said("base {base}, new {new}", **values))


def _title(comparison: Comparison) -> str:
    sources = (comparison.base.source, comparison.new.source)
    base, new = recording_name(*sources), recording_name(*sources[::-1])
    first, second = _what(comparison.base), _what(comparison.new)
    if comparison.base.source == comparison.new.source and first != second:
        return said("{recording}: {first} → {second}", recording=base, first=first, second=second)
    return f"{base} → {new}"


def _what(side: SideFacts) -> str:
    steps = ", ".join(map(str, side.steps[:3])) + (", ..." if len(side.steps) > 3 else "")
    values = {"rank": side.rank, "steps": steps, "en_steps": "steps" if len(side.steps) > 1 else "step"}
    return said("rank {rank}, {en_steps} {steps}", **values)


def _comparable(comparison: Comparison) -> tuple[Line, ...]:
    same = comparison.verdict == "same" and not comparison.comparable
    return () if same else comparable_lines(comparison.comparable)


def _lacking(comparison: Comparison) -> tuple[Line, ...]:
    """A line for each reason, with the tables that it leaves out; none for what no recording of that kind holds."""
    tables: dict[tuple[str, str, str], list[str]] = {}
    for one in comparison.lacking:
        if one.applies:
            tables.setdefault((one.side, one.message, one.hint), []).append(one.table)
    return tuple(
        Line(said(_LACKING[side], tables=_names(side, names), message=recalled(message)), hint, "info")
        for (side, message, hint), names in tables.items()
    )


def _names(side: str, tables: Sequence[str]) -> str:
    return ", ".join(tables) if side != "between" else said("times")


def _figures(comparison: Comparison) -> tuple[Figure, ...]:
    times = comparison.step_time
    if times.interval is None:
        return ()
    one = times.interval
    ends = between(f"{one.low:.3f}", NONE if one.most is None else f"{one.most:.3f}")
    bounds: str = said("{confidence:.0%} interval {ends}", confidence=one.confidence, ends=ends)
    if one.method == "rates":
        bounds = listing((said("time for the same work"), ends), "; ")
    labels, steps = (said("Recording, base"), said("Recording, new")), ("", "")
    if times.unit != "window":
        labels = said("Step, base"), said("Step, new")
        steps = plural(times.base_steps, "step"), plural(times.new_steps, "step")
    return (
        Figure("Verdict", _VERDICTS[comparison.verdict]),
        Figure(labels[0], duration(times.base_ns), steps[0]),
        Figure(labels[1], duration(times.new_ns), steps[1]),
        Figure("Ratio", f"{one.ratio:.3f}", bounds),
        Figure("Difference", percent(one.ratio - 1)),
    )
