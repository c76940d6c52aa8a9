"""The host is busy before the device is used, or after.

## What it finds
Recordings most of which lie before the device's first work or after its last, while the host is busy: a model that is
initialised on the host, a checkpoint that is read, a result that is checked or written there.

## Why it matters
This time is no part of any step, so that faster kernels or copies do not reduce it. It dominates short runs.

## How it decides
Stretches in which the host runs and calls nothing of the device, without waits for a person, a peer or a point in time,
must come to `min_share` of the recording and to `min_ns`, after the last work of the device; before its first one only
where ranges or functions tell what they are (`outside.outside`). There is no price, since that time is no part of a
step, but its share of the recording; where there are no steps it comes before all that has a price.

## What to try
Do that work on the device or in another thread, load the result of an earlier run, or leave it out of runs that are
measured. Before the first work, names decide what is advised: those of reading checkpoints and of downloads
(`own_work.FETCHING`), those of preparing input (without steps that is DAT006), or any other.

## Known limits
Whether the program needs what it does there, and whether it computes or waits for a file, can't be seen. A profiler
that was started late or stopped early shows nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.host.host_work import where
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.one_time import measured
from stepscope.signals.host.outside import outside
from stepscope.signals.host.own_work import Doing
from stepscope.signals.shared.job import stepless, steps
from stepscope.signals.system.system import longest

_SAMPLE: Final = said("Do it on the device as well, do it for a sample only, or leave it out of runs that are measured")
_AFTER: Final = (
    Action(
        "Do it in another thread while the device computes on the next input, or on the device, or leave it out of "
        "runs that are measured",
        before="for x in inputs:\n    write(compute(x))",
        after="writer = ThreadPoolExecutor(1)\nfor x in inputs:\n    writer.submit(write, compute(x))",
        needs=("python",),
    ),
    Action(
        _SAMPLE,
        before="compute_on_device(d_y, d_x, n);\ncheck(y, x, n);",
        after="compute_on_device(d_y, d_x, n);\nif (checking) check(y, x, n < 1000 ? n : 1000);",
        needs=("native",),
    ),
)
#: Where it is no part of what was to be recorded.
RECORD_LATER: Final = Action(
    "If it happens once and the loop is what you ask about: let the profiler start after it",
    before="with profile() as prof:\n    prepare()\n    loop()",
    after="prepare()\nwith profile() as prof:\n    loop()",
    page="recording",
)
_BEFORE: Final = (
    Action(
        "If it initialises the model: build it on the device, or load what an earlier run has saved",
        before='model = Model()  # initialises every weight on the host\nmodel.to("cuda")',
        after='with torch.device("cuda"):\n    model = Model()',
    ),
)
_NATIVE: Final = Action(
    "Build it on the device, load what an earlier run has saved, or do it once for many runs", needs=("native",)
)
#: What shortens loading itself.
FETCHED: Final = (
    Action(
        "Keep the file on a disk of this machine, map it instead of reading it, and leave the weights uninitialised "
        "until they are there",
        before='model = Model()\nmodel.load_state_dict(torch.load(path))\nmodel.to("cuda")',
        after='with torch.device("meta"):\n    model = Model()\n'
        'model.load_state_dict(torch.load(path, mmap=True, map_location="cuda"), assign=True)',
    ),
)
_PREPARED: Final = (
    Action(
        "Prepare the next input while the device computes on this one, and keep what is prepared for later runs",
        before="for path in paths:\n    model(load(path))",
        after="for x in pool.map(load, paths):  # threads or processes that load ahead\n    model(x)",
        page="prefetching",
    ),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time before and after the device's work with the recording."""
    found = s(outside)
    share = found.after.found.total / found.recorded_ns
    if share >= limits["min_share"] and found.after.found.total >= limits["min_ns"]:
        yield _draft(s, found.after, share, said("after the last work of the device"), _AFTER, limits)
    share = found.before.found.total / found.recorded_ns
    told = bool(found.before.name or found.before.parts)
    if s.maybe(stepless) and found.before.prepares and not found.before.fetches:
        # DAT006 says it.
        return
    if told and share >= limits["min_share"] and found.before.found.total >= limits["min_ns"]:
        actions = (*_remedies(found.before), RECORD_LATER, _NATIVE)
        yield _draft(s, found.before, share, said("before the device is used for the first time"), actions, limits)


def _remedies(doing: Doing) -> tuple[Action, ...]:
    """What helps, by what the names say that the host does."""
    if doing.fetches:
        return FETCHED
    return _PREPARED if doing.prepares else _BEFORE


def _draft(s: Signals, doing: Doing, share: float, when: str, actions: tuple[Action, ...], limits: Limits) -> Draft:
    total, what = doing.found.total, s.maybe(measured)
    # What was to be measured is a small part of such a recording.
    first = not s(steps) and what is not None and what.dwarfed_by(total)
    return Draft(
        title=said("The host is busy {when}", when=when),
        summary=said(
            "For {total}, {share} of the recording, the program is busy on the host {when}, outside of "
            "all steps, without calls of the device's runtime{where}.",
            total=duration(total), share=percent(share), when=when, where=where(doing),
        ),
        actions=actions,
        taken_ns=None if s(steps) else total,
        placed_as_ns=total if first else None,
        recorded_share=share,
        confidence=0.8,
        ranges=longest(doing.found),
        numbers={"share": round(share, 3), **limits},
        key=when,
    )  # fmt: skip


RULE = Rule(
    "HST014",
    "unused-device",
    thresholds=(
        Threshold("min_share", 0.5, "share", "Most of the recording."),
        Threshold("min_ns", 1e9, "ns", "What takes less is the start and the end of any program."),
    ),
    check=check,
    whole=True,
)
