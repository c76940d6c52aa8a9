"""Findings about a kernel with counters, and the command of the vendor's kernel profiler for one that has none."""

from __future__ import annotations

import re
import shlex
from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names.parse import is_whole_graph, parse
from stepscope.model.program import Program
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Registered
from stepscope.signals import Signals
from stepscope.signals.kernels.inspected import Inspected
from stepscope.signals.shared.program import program

#: Families whose findings are about single kernels.
_FAMILIES: Final = ("kernels", "ascend")
#: Tensile's names have hundreds of characters; so many tell a kernel from others.
_LONGEST: Final = 80
#: Launches that a finding shows.
_EVENTS: Final = 20


def about(
    one: Inspected, title: str, seen: str, actions: tuple[Action, ...], confidence: float, limits: Limits,
    **numbers: float,
) -> Draft:  # fmt: skip
    """What a kernel's counters show.

    Args:
        one: The kernel.
        title: What is wrong.
        seen: What was seen of it: the rest of the sentence about it.
        actions: What to do.
        confidence: As of a draft.
        limits: The rule's thresholds.
        numbers: What the counters say.
    """
    return Draft(
        title=title,
        summary=said("{kernel}, {share} of the step: {seen}.", kernel=one.short, share=percent(one.share), seen=seen),
        actions=actions,
        taken_ns=one.ns_per_step,
        confidence=confidence,
        events=one.events[:_EVENTS],
        rows=({"table": "kernels" if one.tool == "counters" else "inspected_kernels", "where": {"name": one.name}},),
        numbers={
            **{name: round(number, 4) for name, number in numbers.items()},
            "share": round(one.share, 4),
            **limits,
        },
        key=one.name,
    )


def command(registered: Registered, draft: Draft, signals: Signals) -> str:
    """The command that profiles the most relevant launch of a finding's first kernel; empty if it concerns none.

    Launches are counted from the start of the recording, over all kernels with the same base name (without template
    arguments and parameters), since the profiler counts them so.
    """
    if registered.family not in _FAMILIES or not draft.events.size:
        return ""
    try:
        told, trace = signals(program), signals.whole.trace
    except MissingInputError:
        return ""
    work = DeviceWork.of(trace)
    [at] = np.flatnonzero(work.event == draft.events[0]).tolist() or [-1]
    if at < 0 or not work.are("compute")[at]:
        return ""
    names = trace.once(names_by_id)
    if is_whole_graph(names[int(work.name[at])]):
        return ""
    base = _base(names[int(work.name[at])])
    used = np.unique(work.name[work.are("compute")])
    same = np.isin(work.name, [name for name in used.tolist() if _base(names[name]) == base]) & work.are("compute")
    # In the order of launches; kernels of a graph share one, and follow each other on the device.
    when = np.where(work.launched, work.called, work.ts)
    before = same & ((when < when[at]) | ((when == when[at]) & (work.ts < work.ts[at])))
    return _written(told, base, int(np.count_nonzero(before)))


def _base(name: str) -> str:
    return parse(name).base or name


def _written(told: Program, name: str, before: int) -> str:
    """The command for the vendor at hand; empty where there is none."""
    run = told.executable or ("python" if told.language == "python" or told.pytorch else "./program")
    run += " program.py" if run.startswith("python") else ""
    if told.platform == "cuda":
        # Some programs cut long names when they register kernels.
        whole = name.removesuffix("...")
        pattern = shlex.quote(f"regex:^{re.escape(whole)}" + ("$" if whole == name else ""))
        return f"ncu --set full --kernel-name {pattern} --launch-skip {before} --launch-count 1 -o kernel {run}"
    if told.platform == "rocm":
        return f"rocprof-compute profile -n kernel -k {shlex.quote(name[:_LONGEST])} -d {before + 1} -- {run}"
    if told.platform == "npu":
        # Ascend numbers the kernels of a model: MatMul12 is the operator MatMul.
        kernel = shlex.quote(re.sub(r"_?\d+$", "", name))
        return f"msprof op --kernel-name={kernel} --launch-count={before + 1} --output=./kernel {run}"
    return ""
