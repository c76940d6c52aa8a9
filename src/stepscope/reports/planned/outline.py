"""The page of `stepscope plan`: ranked plans, the first one in parts and as pictures, neighbours, settings."""

from __future__ import annotations

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.planning.expected import MEMORY, step_range, step_share
from stepscope.planning.family.counts import parameters
from stepscope.planning.planned import Neighbour, Planned
from stepscope.planning.result import JudgedPlan
from stepscope.reports.blocks import Block, Grid, Heading, Line, Outline, Section
from stepscope.reports.planned.parts import part_of_plan
from stepscope.reports.planned.pictures import memory_picture, pipeline_picture
from stepscope.reports.text import visible


def outline(planned: Planned) -> Outline:
    """The page."""
    sections = [Section("Plans", (*_assumed(planned), *_plans(planned)), _considered(planned))]
    if planned.remedies:
        sections.append(
            Section("What would make it possible", tuple(Line(one, tone="warning") for one in planned.remedies))
        )
    if planned.plans:
        best = planned.plans[0]
        sections += [
            Section("Why", tuple(Line(one) for one in best.reasons)),
            Section("Memory of the fullest device", _memory(best), said("stage {stage}", stage=best.memory.stage)),
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
    values: dict[str, object] = {
        "name": visible(planned.shape.name),
        "total": counts.total / 1e9,
        "devices": plural(planned.request.devices, "device"),
    }
    if planned.shape.experts:
        values["active"] = counts.active / 1e9
        return said("Plan for {name} ({total:.1f} B parameters, {active:.1f} B active) on {devices}", **values)
    return said("Plan for {name} ({total:.1f} B parameters) on {devices}", **values)


def _facts(planned: Planned) -> tuple[str, ...]:
    fixed = planned.request.fixed
    one = planned.platform
    return (
        f"{visible(one.name)}, {quantity(one.memory_bytes, 'bytes')}",
        said("{per_server} per server", per_server=one.per_server),
        said("global batch {global_batch:,}", global_batch=fixed["global_batch"]),
        said("{seq:,} tokens per sequence", seq=fixed["seq"]),
    )


def _considered(planned: Planned) -> str:
    return (
        said("of {considered:,} layouts", considered=planned.considered)
        if planned.considered > 1
        else said("the one given")
    )


def _assumed(planned: Planned) -> tuple[Line, ...]:
    found = [*planned.request.assumed, *planned.shape.assumed]
    lines = [Line(said("taken as usual: {found}", found=listing(found, "; ")), tone="info")] if found else []
    lines += [Line(said("from the recording: {one}", one=one), tone="info") for one in planned.platform.taken]
    lines += [Line(one) for one in planned.remarks]
    if planned.plans:
        lines += [Line(one, tone="warning") for one in planned.plans[0].notes]
    return tuple(lines)


def _plans(planned: Planned) -> tuple[Block, ...]:
    if not planned.plans:
        return (Line("no layout fits", tone="error"),)
    headings = (
        Heading(said("plan"), number=False),
        Heading(said("recompute"), number=False),
        Heading(said("step")),
        Heading(said("tokens/s")),
        Heading(said("MFU"), rank=1),
        Heading(said("memory")),
        Heading(said("of it"), rank=2),
        Heading("", number=False),
    )
    return Grid(headings, tuple(_row(plan) for plan in planned.plans)), Line(_expected(planned), tone="info")


def _expected(planned: Planned) -> str:
    """How far off measured steps and memory were, and between what those of the first plan are to be expected."""
    best = planned.plans[0]
    (low, high), (least, most) = step_share(planned.shape), (duration(one) for one in step_range(best, planned.shape))
    return said(
        "of published runs that nothing was fitted to, nine in ten steps were {low:.2f} to {high:.2f} times the "
        "predicted ones, here {least} to {most}, and their memory {small:.2f} to {large:.2f} times",
        low=low,
        high=high,
        least=least,
        most=most,
        small=MEMORY[0],
        large=MEMORY[1],
    )


def _row(plan: JudgedPlan) -> tuple[str, ...]:
    memory = plan.memory
    return (
        words(plan),
        _again(plan),
        duration(plan.step_ns),
        f"{plan.tokens_per_second:,.0f}",
        percent(plan.mfu),
        quantity(memory.device_bytes, "bytes"),
        percent(memory.device_bytes / memory.usable_bytes, 0),
        _fits(plan),
    )


def words(plan: JudgedPlan) -> str:
    """A layout in a line, but what it recomputes."""
    one = plan.layout
    parts = [one.precision] if one.precision == "fp8" else []
    parts += [f"tp {one.tp}", f"pp {one.pp}" + (f"x{one.virtual_stages}" if one.virtual_stages > 1 else "")]
    parts.append(f"dp {one.dp}")
    parts += [f"cp {one.cp}"] * (one.cp > 1) + [f"ep {one.ep}"] * (one.ep > 1)
    parts += [f"micro {one.micro_batch}", f"zero {one.zero}"]
    return " ".join(parts)


def _fits(plan: JudgedPlan) -> str:
    if not plan.memory.fits:
        return said("does not fit")
    return said("tight") if plan.memory.tight else said("fits")


def _again(plan: JudgedPlan) -> str:
    kind = plan.layout.recompute.value
    return (
        said("{recomputed_layers} layers", recomputed_layers=plan.layout.recomputed_layers)
        if kind == "layers"
        else kind
    )


def _memory(plan: JudgedPlan) -> tuple[Block, ...]:
    memory = plan.memory
    rows = []
    for name, size in (*memory.parts.items(), *memory.outside.items()):
        share = size / memory.usable_bytes
        rows.append((part_of_plan(name), quantity(size, "bytes"), percent(share), share))
    left = memory.usable_bytes - memory.device_bytes
    rows.append((said("left") if left >= 0 else said("lacking"), quantity(abs(left), "bytes"), percent(abs(left) /
                 memory.usable_bytes), abs(left) / memory.usable_bytes))  # fmt: skip
    headings = (
        Heading(said("part"), number=False),
        Heading(said("size")),
        Heading(said("of what can be used")),
        Heading("", bar=True, rank=1),
    )
    return (Line(memory_picture(plan), tone="info"), Grid(headings, tuple(rows)))


def _time(plan: JudgedPlan) -> tuple[Block, ...]:
    rows = [
        (part_of_plan(name), duration(value), percent(value / plan.step_ns), value / plan.step_ns)
        for name, value in sorted(plan.time_ns.items(), key=lambda one: -one[1])
    ]
    headings = (
        Heading(said("part"), number=False),
        Heading(said("time")),
        Heading(said("of the step")),
        Heading("", bar=True, rank=1),
    )
    return (Grid(headings, tuple(rows)),)


def _neighbours(found: tuple[Neighbour, ...]) -> Grid:
    rows = [
        (
            one.what,
            f"{100 * (one.times - 1):+.1f} %",
            quantity(one.plan.memory.device_bytes, "bytes"),
            _fits(one.plan),
        )
        for one in found
    ]
    headings = (
        Heading(said("change"), number=False),
        Heading(said("step")),
        Heading(said("memory")),
        Heading("", number=False),
    )
    return Grid(headings, tuple(rows))


def _settings(planned: Planned) -> tuple[Line, ...]:
    name, text = next(iter(planned.settings.items()))
    others = ", ".join(list(planned.settings)[1:])
    lines = [
        Line(f"{name}:" if not others else said("{name} (also: {others}):", name=name, others=others), tone="info")
    ]
    return (*lines, *(Line(visible(one)) for one in text.splitlines() if one))
