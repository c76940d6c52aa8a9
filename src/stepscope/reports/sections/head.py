"""What was recorded: the first lines of a page."""

from __future__ import annotations

from collections import Counter
from os.path import commonpath
from pathlib import Path
from typing import Any, Final

from stepscope.language import Said, listing, said, sentences
from stepscope.model.amounts import plural
from stepscope.model.serving_names import Pass
from stepscope.reports.contents import Contents
from stepscope.reports.sections import snapshot
from stepscope.reports.sections.budget import step_rows
from stepscope.reports.sections.coverage import covered
from stepscope.reports.text import cut, visible
from stepscope.reports.units import duration

#: So many passes in a row tell how fast they come.
_PASSES: Final = 3
_NO_DEVICE = said("no device activity")
#: What a recording without events holds, by its code of health.
_PARTLY = {"totals-only": said("totals only"), "memory-only": said("records of memory only")}
_VERSIONS = (
    ("cuda_runtime_version", "CUDA"),
    ("hip_runtime_version", "HIP"),
    ("nccl_version", "NCCL"),
    ("torch_version", "PyTorch"),
)


def title(report: Contents) -> str:
    """The input's name: the end of a path, or the folder that many recordings share."""
    paths = [recording.source for recording in report.sources.values()]
    if not paths:
        return "nothing"
    if len(paths) == 1:
        return visible("/".join(paths[0].replace("\\", "/").rsplit("/", 2)[-2:]))
    try:
        folder = commonpath(paths)
    except ValueError:
        folder = paths[0]
    # What is given as `.` has no name of its own.
    return said("{name} ({paths} recordings)", name=visible(Path(folder).resolve().name or folder), paths=len(paths))


def facts(report: Contents) -> tuple[str, ...]:
    """What the recording is of: program, devices, ranks, events, versions."""
    recordings = list(report.sources.values())
    events = (*covered(report), _devices(report), _ranks(report), plural(sum(r.events for r in recordings), "event"))
    found = [_program(report), *(snapshot.facts(report) if snapshot.is_snapshot(report) else events)]
    attributes = recordings[0].attributes if recordings else {}
    for key, label in _VERSIONS:
        if attributes.get(key) not in (None, "", "N/A"):
            found.append(f"{label} {_version(attributes[key])}")
    if report.selection.steps:
        found.append(said("only step {steps}", steps=", ".join(map(str, report.selection.steps))))
    return tuple(visible(fact) for fact in found if fact)


def _program(report: Contents) -> str:
    """The program that ran; where ranks differ, that of most of them."""
    programs = report.programs.values()
    # A rank with totals only does not show what it does.
    known = [program for program in programs if program.kind != "unknown"] or list(programs)
    words = Counter(str(program) for program in known if str(program))
    if not words:
        return ""
    return sentences((cut(words.most_common(1)[0][0], 100), _passes(report), _read(report)), ", ")


def _passes(report: Contents) -> str:
    """`prefill of 888 tokens, 10,300 tokens/s`: the passes of a server that took the device longest.

    Where the steps are the passes, it is the step's length that counts. Elsewhere, of several passes, the time from one
    start to the next: what lies between them makes tokens late, too. Where the host is ahead of the device, it is the
    device that counts.
    """
    rows = report.rows("serving")
    if not rows:
        return ""
    rows = [row for row in rows if row["rank"] == rows[0]["rank"]]
    alike: dict[tuple[str, int, int | None], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row["phase"], row["requests"], row["tokens"]), []).append(row)
    same = max(alike.values(), key=lambda same: sum(row["device_ns"] or 0 for row in same))
    row = max(same, key=lambda row: row["device_ns"] or 0)
    length, tokens = row["device_ns"], row["tokens"]
    if lengths := _steps_of(report, rows, same):
        length = sum(lengths) // len(lengths)
    elif len(same) == len(rows) and len(rows) >= _PASSES:
        apart = (rows[-1]["ts"] - rows[0]["ts"]) // (len(rows) - 1)
        length = max(apart, sum(row["device_ns"] or 0 for row in rows) // len(rows))
    rate = said(", {tokens:,.0f} tokens/s", tokens=tokens / length * 1000000000.0) if tokens and length else ""
    # A pass makes one token for each of its requests.
    if row["phase"] == "decode" and length and tokens == row["requests"]:
        rate += said(", {length} per token", length=duration(length))
    times = said(" ({same:,} times)", same=len(same)) if len(same) > 1 else ""
    others = len(rows) - len(same)
    more = said(" and {passes}", passes=plural(others, "other pass", "other passes")) if others else ""
    return said(
        "{passes}{times}{rate}{more}",
        passes=str(Pass(row["phase"], row["requests"], row["tokens"])), times=times, rate=rate, more=more,
    )  # fmt: skip


def _steps_of(report: Contents, passes: list[dict[str, Any]], same: list[dict[str, Any]]) -> list[int]:
    """Lengths of the steps that passes of a kind are, of typical ones if there are any; empty if steps are others."""
    budget = report.rows("step_budget")
    steps = [row for row in budget if row["rank"] == passes[0]["rank"] and row["step"] is not None]
    marked = {row["source"] for row in steps} == {"annotation"} and len({row["device"] for row in steps}) == 1
    if not marked or len(steps) != len(passes):
        return []
    mine = [step for one, step in zip(passes, steps, strict=True) if one in same and not step["partial"]]
    return [step["total_ns"] for step in mine if step["typical"]] or [step["total_ns"] for step in mine]


def _read(report: Contents) -> str:
    """`16 x 559 tokens per step, 254,000 tokens/s`: what a typical step reads, on the rank where that is most."""
    rows = report.rows("throughput")
    if not rows:
        return ""
    row = max(rows, key=lambda row: row["per_step"])
    # A server's passes say it better, and a denoising step reads no images.
    if report.programs[row["rank"]].kind not in ("training", "inference"):
        return ""
    lengths = [step["total_ns"] for step in step_rows(report) if step["rank"] == row["rank"]]
    length = sum(lengths) / len(lengths) if lengths else 0
    rate = said(", {rate:,.0f} {unit}/s", rate=row["per_step"] / length * 1e9, unit=row["unit"]) if length else ""
    ranks = said(" per rank") if len(report.sources) > 1 else ""
    return said(
        "{per_step:,.0f} {unit} per step{rate}{ranks}",
        per_step=row["per_step"], unit=row["unit"], rate=rate, ranks=ranks,
    )  # fmt: skip


def _devices(report: Contents) -> str:
    """`8 × Tesla V100-SXM2-32GB`."""
    busy = any(row["total_ns"] > row["idle_ns"] for row in step_rows(report) if row.get("idle_ns") is not None)
    unused = next((line.name for line in report.ranks if line.name and not busy), "")
    if unused and all(line.device is None for line in report.ranks):
        return said("{no_device} ({name})", no_device=_NO_DEVICE, name=cut(unused, 60))
    names = Counter(
        line.name or said("unnamed device") for line in report.ranks if line.device is not None or line.name
    )
    if not names:
        partly = next((_PARTLY[line.code] for line in report.health if line.code in _PARTLY), "")
        if partly:
            return partly
        # Of some devices neither number nor name is recorded, but when they worked.
        return said("unnamed device") if busy else _NO_DEVICE
    return listing(
        said("{number} × {name}", number=number, name=name) if number > 1 else _cut(name)
        for name, number in names.items()
    )


def _cut(name: str) -> str:
    """A device's name at most as long as there is room for."""
    return name if isinstance(name, Said) else cut(name, 60)


def _ranks(report: Contents) -> str:
    ranks = list(report.sources)
    worlds = [line.world_size for line in report.ranks if line.world_size]
    of = said(" of {worlds:,}", worlds=max(worlds)) if worlds else ""
    if len(ranks) == 1:
        return said("rank {rank}{of}", rank=ranks[0], of=of)
    return said("{ranks} ranks{of}", ranks=len(ranks), of=of)


def _version(value: object) -> str:
    """CUDA writes 12.4 as 12040."""
    if isinstance(value, int) and 1000 <= value < 100_000:
        return f"{value // 1000}.{value % 1000 // 10}"
    if isinstance(value, int) and value >= 1_000_000:  # HIP: major, two digits of minor, five of patch
        return f"{value // 10_000_000}.{value // 100_000 % 100}"
    return str(value)
