"""The job waits for files.

## What it finds
Steps in which the thread that launches reads or writes files itself while the device has nothing to do: data, logs,
checkpoints, lazily opened archives.

## Why it matters
A disk answers in tenths of a millisecond, shared storage in milliseconds, and a busy one in far more. Other threads can
wait for that without the device noticing.

## How it decides
Calls that read, write or open files, of the operating system or else of Python, must take `min_share` of the step on
the thread that runs the steps, while the device is idle; in a job without a device, outside the loader
(`system.reading_share`). What an import reads does not count: it comes once. The price is what the step would save on
its dependency graph without that time.

## What to try
Read in the loader's workers, or ahead in a thread. Open files once. Keep data on a local disk. Write logs and
checkpoints in the background.

## Known limits
Needs steps, and calls of the operating system (Nsight Systems, `--trace=osrt`) or Python functions (`with_stack=True`);
files that other libraries read by themselves do not show in these. Pages that are mapped into memory are read without a
call.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps, steps
from stepscope.signals.system.system import longest, reading, reading_calls, reading_share

_AHEAD = Action(
    "Read in the loader's workers, or ahead of the step",
    before="for step in range(n):\n    batch = torch.load(f'{step}.pt')",
    after="loader = DataLoader(Files(paths), batch_size=None, num_workers=4, prefetch_factor=4)",
    page="data-loading",
)
_BACKGROUND = Action(
    "Write logs and checkpoints in the background",
    before="torch.save(model.state_dict(), path)",
    after="dcp.async_save(model.state_dict(), checkpoint_id=path)  # torch.distributed.checkpoint",
    page="logging",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare time in such calls with the step."""
    if not s(steps) or s(reading_share) < limits["min_share"]:
        return
    found, calls = s(reading), s(reading_calls)
    yield Draft(
        title="The step waits for files",
        summary=said(
            "For {total} of each step ({reading_share}) the program is in {calls}, and the device, if "
            "there is one, is idle.",
            total=duration(found.total // s(recorded_steps)), reading_share=percent(s(reading_share)),
            calls=listing(calls, " and "),
        ),
        actions=(_AHEAD, _BACKGROUND),
        change=Change(time=(Stretches(found.starts, found.ends, 0.0),)),
        confidence=0.85,
        ranges=longest(found),
        rows=tuple({"table": "os_runtime", "where": {"name": name}} for name in calls),
        numbers={reading_share.name: s(reading_share), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "SYS002",
    "file-waits",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
    elsewhere=native.WRITING,
    symptom_of=("HST006",),
)
