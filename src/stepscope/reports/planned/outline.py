"""The page of `stepscope plan`: ranked plans, the first one in parts and as pictures, neighbours, settings."""

from __future__ import annotations

from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.planning.family.counts import parameters
from stepscope.planning.planned import Neighbour, Planned
from stepscope.planning.result import JudgedPlan
from stepscope.reports.blocks import Block, Grid, Heading, Line, Outline, Section
from stepscope.reports.planned.pictures import memory_picture, pipeline_picture
from stepscope.reports.text import visible


def outline(planned: Planned) -> Outline:
    """The page."""
    sections = [Section("Plans", (*_assumed(planned), *_plans(planned)), _considered(planned))]
    if planned.remedies:
        title = "What would make it possible"
        sections.append(Section(title, tuple(Line(one, tone="warning") for one in planned.remedies)))
    if planned.plans:
        best = planned.plans[0]
        sections += [
            Section("Why", tuple(Line(one) for one in best.reasons)),
            Section("Memory of the fullest device", _memory(best), f"stage {best.memory.stage}"),
            Section("Time of a step", _time(best), "parts of the longest stage; they add up to the step"),
        ]
        if best.layout.pp > 1:
            sections.append(Section("Pipeline", tuple(Line(one, tone="info") for one in pipeline_picture(best))))
        if planned.neighbours:
            sections.append(Section("One choice away", (_neighbours(planned.neighbours),), "step per sequence"))
        sections.append(Section("Settings", _settings(planned), "--settings NAME prints one"))
    return Outline(_title(planned), _facts(planned), tuple(sections))


def _title(planned: Planned) -> str:
    counts = parameters(planned.shape)
    active = f", {counts.active / 1e9:.1f} B active" if planned.shape.experts else ""
    devices = plural(planned.request.devices, "device")
    return f"Plan for {visible(planned.shape.name)} ({counts.total / 1e9:.1f} B parameters{active}) on {devices}"


def _facts(planned: Planned) -> tuple[str, ...]:
    fixed = planned.request.fixed
    one = planned.platform
    return (
        f"{visible(one.name)}, {quantity(one.memory_bytes, 'bytes')}",
        f"{one.per_server} per server",
        f"global batch {fixed['global_batch']:,}",
        f"{fixed['seq']:,} tokens per sequence",
    )


def _considered(planned: Planned) -> str:
    return f"of {planned.considered:,} layouts" if planned.considered > 1 else "the one given"


def _assumed(planned: Planned) -> tuple[Line, ...]:
    found = [*planned.request.assumed, *planned.shape.assumed]
    lines = [Line(f"taken as usual: {'; '.join(found)}", tone="info")] if found else []
    lines += [Line(f"from the recording: {one}", tone="info") for one in planned.platform.taken]
    lines += [Line(one) for one in planned.remarks]
    if planned.plans:
        lines += [Line(one, tone="warning") for one in planned.plans[0].notes]
    return tuple(lines)


def _plans(planned: Planned) -> tuple[Block, ...]:
    if not planned.plans:
        return (Line("no layout fits", tone="error"),)
    headings = (
        Heading("plan", number=False), Heading("recompute", number=False), Heading("step"), Heading("tokens/s"),
        Heading("MFU", rank=1), Heading("memory"), Heading("of it", rank=2), Heading("", number=False),
    )  # fmt: skip
    return (Grid(headings, tuple(_row(plan) for plan in planned.plans)),)


def _row(plan: JudgedPlan) -> tuple[str, ...]:
    memory = plan.memory
    fits = "does not fit" if not memory.fits else "tight" if memory.tight else "fits"
    return (
        words(plan), _again(plan), duration(plan.step_ns), f"{plan.tokens_per_second:,.0f}",
        percent(plan.mfu), quantity(memory.device_bytes, "bytes"),
        percent(memory.device_bytes / memory.usable_bytes, 0), fits,
    )  # fmt: skip


def words(plan: JudgedPlan) -> str:
    """A layout in a line, but what it recomputes."""
    one = plan.layout
    said = [one.precision] if one.precision == "fp8" else []
    said += [f"tp {one.tp}", f"pp {one.pp}" + (f"x{one.virtual_stages}" if one.virtual_stages > 1 else "")]
    said.append(f"dp {one.dp}")
    said += [f"cp {one.cp}"] * (one.cp > 1) + [f"ep {one.ep}"] * (one.ep > 1)
    said += [f"micro {one.micro_batch}", f"zero {one.zero}"]
    return " ".join(said)


def _again(plan: JudgedPlan) -> str:
    kind = plan.layout.recompute.value
    return f"{plan.layout.recomputed_layers} layers" if kind == "layers" else kind


def _memory(plan: JudgedPlan) -> tuple[Block, ...]:
    memory = plan.memory
    rows = []
    for name, size in (*memory.parts.items(), *memory.outside.items()):
        share = size / memory.usable_bytes
        rows.append((name, quantity(size, "bytes"), percent(share), share))
    left = memory.usable_bytes - memory.device_bytes
    rows.append(("left" if left >= 0 else "lacking", quantity(abs(left), "bytes"), percent(abs(left) /
                 memory.usable_bytes), abs(left) / memory.usable_bytes))  # fmt: skip
    headings = (
        Heading("part", number=False),
        Heading("size"),
        Heading("of what can be used"),
        Heading("", bar=True, rank=1),
    )
    return (Line(memory_picture(plan), tone="info"), Grid(headings, tuple(rows)))


def _time(plan: JudgedPlan) -> tuple[Block, ...]:
    rows = [
        (name, duration(value), percent(value / plan.step_ns), value / plan.step_ns)
        for name, value in sorted(plan.time_ns.items(), key=lambda one: -one[1])
    ]
    headings = (Heading("part", number=False), Heading("time"), Heading("of the step"), Heading("", bar=True, rank=1))
    return (Grid(headings, tuple(rows)),)


def _neighbours(found: tuple[Neighbour, ...]) -> Grid:
    rows = [
        (
            one.what,
            f"{100 * (one.times - 1):+.1f} %",
            quantity(one.plan.memory.device_bytes, "bytes"),
            "does not fit" if not one.plan.memory.fits else "tight" if one.plan.memory.tight else "fits",
        )
        for one in found
    ]
    headings = (Heading("change", number=False), Heading("step"), Heading("memory"), Heading("", number=False))
    return Grid(headings, tuple(rows))


def _settings(planned: Planned) -> tuple[Line, ...]:
    name, text = next(iter(planned.settings.items()))
    others = ", ".join(list(planned.settings)[1:])
    lines = [Line(f"{name}:" if not others else f"{name} (also: {others}):", tone="info")]
    return (*lines, *(Line(visible(one)) for one in text.splitlines() if one))
