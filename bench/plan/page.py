"""The page of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from bench.plan import text
from bench.plan.misses import EXPLAINED
from bench.plan.rows import Row
from bench.plan.series import by_series, calibrated, middle, tau

#: Errors from which a row's miss is explained.
MISS_MEMORY, MISS_STEP = 0.10, 0.15


def page(rows: Sequence[Row], second: Sequence[Row], *later: Sequence[Row]) -> str:
    """The page of the first set, with the figures of the others, as Markdown."""
    third, fourth, fifth = later
    further = [*_second(second), "## A third set", "", *text.THIRD, "", *_by_series(third), ""]
    further += ["## A fourth set", "", *text.FOURTH, *_by_series(fourth), "", *_all_of(fourth), *text.FOURTH_MISSES, ""]
    further += ["## A fifth set", "", *text.FIFTH, *_by_series(fifth), "", *_all_of(fifth), *text.FIFTH_MISSES, ""]
    lines = [*_head(rows), *further, *_series(rows), *_rows(rows), *_misses(rows)]
    return "\n".join(lines) + "\n"


def second_page(rows: Sequence[Row], *later: Sequence[Row]) -> str:
    """The page of all sets but the first."""
    third, fourth, fifth = later
    both = [*_series(rows), *_rows(rows), *text.THIRD_HEAD, *_series(third, "###"), *_rows(third, "###")]
    both += [*text.FOURTH_HEAD, *_series(fourth, "###"), *_rows(fourth, "###")]
    both += [*text.FIFTH_HEAD, *_series(fifth, "###"), *_rows(fifth, "###")]
    return "\n".join([*text.SECOND_HEAD, *both]) + "\n"


def _by_series(rows: Sequence[Row]) -> list[str]:
    """A table of every series."""
    lines = ["| series | rows | memory | within 10 % | step | within 15 % | step, scaled by one row | tau |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for name, group in by_series(rows).items():
        memory = [row.memory_error for row in group if row.memory_error is not None]
        steps = [row.step_error for row in group if row.step_error is not None]
        order = tau(group)
        near = _near(memory, MISS_MEMORY)
        lines.append(
            f"| {name} | {len(group)} | {_percent(middle(memory))} | {near} | {_percent(middle(steps))} "
            f"| {_near(steps, MISS_STEP)} | {_percent(middle(calibrated(group)))} "
            f"| {'' if order is None else f'{order:.2f}'} |"
        )
    return lines


def _near(errors: Sequence[float], most: float) -> str:
    return f"{sum(abs(error) <= most for error in errors)} of {len(errors)}" if errors else ""


def _all_of(rows: Sequence[Row]) -> list[str]:
    """How far steps are off over all series, and in how far their order is right."""
    steps = [row.step_error for row in rows if row.step_error is not None]
    near, order = sum(abs(error) <= MISS_STEP for error in steps), tau(rows)
    return [
        f"All of them: steps {_percent(middle(steps))} off in the median, {near} of {len(steps)} within 15 %; scaled",
        f"by any one row {_percent(middle(calibrated(rows)))}; tau over all {'' if order is None else f'{order:.2f}'}.",
    ]


def _second(rows: Sequence[Row]) -> list[str]:
    lines = ["## A second set", "", *text.SECOND, "", *_by_series(rows)]
    memory = [row.memory_error for row in rows if row.memory_error is not None]
    steps = [row.step_error for row in rows if row.step_error is not None]
    near = sum(abs(error) <= MISS_MEMORY for error in memory)
    lines += [
        "",
        f"All of them: memory {_percent(middle(memory))} off in the median, {near} of {len(memory)} within 10 %;",
    ]
    lines += [
        f"steps {_percent(middle(steps))}, {sum(abs(e) <= MISS_STEP for e in steps)} of {len(steps)} within 15 %."
    ]
    failed = [row for row in rows if row.row.get("out_of_memory")]
    wrong = sum(row.fits_wrongly for row in failed)
    lines += ["", f"{len(failed)} of these ran out of memory; {wrong} of them are predicted to fit."]
    return [*lines, "", *text.SECOND_MISSES, ""]


def _head(rows: Sequence[Row]) -> list[str]:
    memory = [row.memory_error for row in rows if row.memory_error is not None]
    steps = [row.step_error for row in rows if row.step_error is not None]
    again = [error for group in by_series(rows).values() for error in calibrated(group)]
    taus = [value for group in by_series(rows).values() if (value := tau(group)) is not None]
    within = sum(abs(error) <= MISS_MEMORY for error in memory)
    return [
        "# How well plans predict",
        "",
        f"`python -m bench.plan` judges {len(rows)} published configurations by `stepscope plan` ([plan.md](plan.md)),",
        "and writes this page. What a source does not state (micro-batch, chunks, recomputation) is what its authors",
        "would choose: the fastest that fits.",
        "",
        "| what | rows | result |",
        "|---|---|---|",
        f"| memory, median error | {len(memory)} | {_percent(middle(memory))} |",
        f"| memory, within 10 % | {len(memory)} | {within} ({within / len(memory):.0%}) |",
        f"| step time without calibration, median error | {len(steps)} | {_percent(middle(steps))} |",
        f"| step time without calibration, within 15 % | {len(steps)} | {sum(abs(e) <= MISS_STEP for e in steps)} |",
        f"| step time scaled by one row of its series, median error on the others | {len(again)} pairs "
        f"| {_percent(middle(again))} |",
        f"| order of time per token within a series, Kendall's tau, lowest of all series | {len(taus)} series "
        f"| {min(taus):.2f} |",
        "",
        *text.PROVISO,
        "",
    ]


def _series(rows: Sequence[Row], level: str = "##") -> list[str]:
    lines = [
        f"{level} By series",
        "",
        "| series | rows | memory | step | step, scaled by one row | tau |",
        "|---|---|---|---|---|---|",
    ]
    for name, group in by_series(rows).items():
        memory = middle([row.memory_error for row in group if row.memory_error is not None])
        step = middle([row.step_error for row in group if row.step_error is not None])
        order = tau(group)
        lines.append(
            f"| {name} | {len(group)} | {_percent(memory)} | {_percent(step)} | {_percent(middle(calibrated(group)))} "
            f"| {'' if order is None else f'{order:.2f}'} |"
        )
    return [*lines, ""]


def _rows(rows: Sequence[Row], level: str = "##") -> list[str]:
    lines = [
        f"{level} Every row",
        "",
        "Memory in GiB per device, steps in seconds; choices in brackets are not stated by the source.",
        "",
        "| row | model | devices | layout | memory: published | predicted | | step: published | predicted | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = row.memory_bytes / 2**30
        lines.append(
            f"| {row.id} | {row.model} | {row.row['devices']} {row.row['device'].split(',')[0]} | {_layout(row)} "
            f"| {_number(row.memory_gib, '.1f')} | {memory:.1f} | {_signed(row.memory_error)} "
            f"| {_number(row.step_s, '.3g')} | {row.plan.step_ns / 1e9:.3g} "
            f"| {_signed(row.step_error)} |"
        )
    return [*lines, ""]


def _layout(row: Row) -> str:
    one, stated = row.plan.layout, row.row
    said = [f"tp {one.tp}", f"pp {one.pp}", f"dp {one.dp}"]
    said += [f"cp {one.cp}"] * (one.cp > 1) + [f"ep {one.ep}"] * (one.ep > 1)
    if one.virtual_stages > 1:
        said.append(f"v {one.virtual_stages}" if stated.get("vpp") else f"(v {one.virtual_stages})")
    said.append(f"b {one.micro_batch}" if stated.get("micro_batch") else f"(b {one.micro_batch})")
    recompute = one.recompute.value
    said.append(recompute if stated.get("recompute") else f"({recompute})")
    return " ".join([*said, f"zero {one.zero}", one.precision])


def _misses(rows: Sequence[Row]) -> list[str]:
    lines = [
        "## Misses",
        "",
        f"Rows whose memory is off by more than {MISS_MEMORY:.0%}, or whose step by more than {MISS_STEP:.0%}.",
        "",
        "| row | memory | step | why |",
        "|---|---|---|---|",
    ]
    for row in rows:
        missed_memory = row.memory_error is not None and abs(row.memory_error) > MISS_MEMORY
        missed_step = row.step_error is not None and abs(row.step_error) > MISS_STEP
        if missed_memory or missed_step:
            memory = _signed(row.memory_error) if missed_memory else ""
            step = _signed(row.step_error) if missed_step else ""
            lines.append(f"| {row.id} | {memory} | {step} | {EXPLAINED.get(row.id, 'not explained')} |")
    return lines


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f} %"
