"""The step waits for its batch from the data loader.

## What it finds
Time that the training loop spends inside the data loader while the device is idle.

## Why it matters
A loader that keeps up costs nothing: its workers prepare the next batches while the device computes the current one.
While the step waits for its batch, the device is idle.

## How it decides
The wait for a batch (`data.wait_ns`), as a share of the step, must reach `min_share`. A first wait that is many times
longer than all later ones starts the loader and is left to DAT002. Stacks distinguish late workers from batches that
are ready but slow to receive (`loader_activity.receiving_share`). The price is what the step would save on its
dependency graph if batches were ready when asked for: a wait that overlaps with device work is worth nothing. Where the
recording doesn't link kernels to their launches, it is the device's idle time within these waits. Where samples of the
machine say how many processors the job uses and may use, and the main process loads the batches, it is no more than
what is left of the step when the work of all of its processes is spread over all of these processors; where nothing is
left, only cheaper batches help, and the price is theirs.

## What to try
Load in worker processes, enough of them that their combined rate exceeds the rate at which steps consume batches;
let each prefetch; keep workers alive between epochs; move decoding and augmentation out of the main process. If
workers are many and busy already, the reading or the preprocessing itself is too slow. Where receiving takes the time,
let the loader's thread do it (`pin_memory=True`), and send fewer and larger tensors.

## Known limits
Loaders that are neither a `torch.utils.data.DataLoader` nor of `tf.data` are seen only if a `record_function` names
them as one.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import in_process, lone, regular, wait_ns, wait_share
from stepscope.signals.data.loader_activity import receiving, receiving_share
from stepscope.signals.host.one_time import LOOP
from stepscope.signals.shared.idleness import data_wait_idle_ns
from stepscope.signals.shared.job import step_ns, steps
from stepscope.signals.system.machine import processors

_WORKERS_AND_DEVICE = Action(
    "Load batches in worker processes, a few per device, and let each prefetch",
    before="DataLoader(dataset, batch_size=64)",
    after="DataLoader(dataset, batch_size=64, num_workers=8, prefetch_factor=4,\n"
    "           persistent_workers=True, pin_memory=True)",
    page="data-loading",
)
_WORKERS_ALONE = Action(
    "Load batches in worker processes, as many as the model's threads leave cores for",
    before="DataLoader(dataset, batch_size=64)",
    after="DataLoader(dataset, batch_size=64, num_workers=4, prefetch_factor=4, persistent_workers=True)",
    needs=("no device",),
    page="data-loading",
)
_WORKERS = (_WORKERS_AND_DEVICE, _WORKERS_ALONE)
_MORE = Action(
    "Give the loader more workers or a deeper prefetch, until the wait is gone or the CPUs are busy",
    before="DataLoader(dataset, num_workers=n)",
    after="DataLoader(dataset, num_workers=2 * n, prefetch_factor=4, persistent_workers=True)",
    page="data-loading",
)
_CHEAPER = Action(
    "Make a batch cheaper: decode ahead of time, store in a binary format, augment on the device",
    page="data-loading",
)
_AHEAD = Action(
    "Let the pipeline prepare several batches at once, and ahead of the step",
    before="ds = ds.map(decode).batch(64)",
    after="ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)",
    page="data-loading",
)
_RECEIVE = (
    Action(
        "Let the loader's own thread receive batches, into page-locked memory",
        before="DataLoader(dataset, num_workers=8)",
        after="DataLoader(dataset, num_workers=8, pin_memory=True)",
        page="data-loading",
    ),
    Action(
        "Send fewer and larger tensors: each is a file that is opened and mapped anew",
        before="return {name: torch.tensor(values) for name, values in sample.items()}  # dozens of tensors",
        after="return torch.stack([...])  # one tensor per batch; split it into views on the device",
        page="data-loading",
    ),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the wait with the step."""
    share = s(wait_share)
    if share < limits["min_share"]:
        return
    found, alone = s(regular), s(in_process)
    # Where nearly all is the first of two or three, it may be the loader's start, which DAT002 says.
    if found.events.size < limits["min_waits"] or (s.maybe(lone) and (s.maybe(steps) or 0) < LOOP):
        return
    received = (s.maybe(receiving_share) or 0.0) if alone is False else 0.0
    taken_over = received >= limits["min_received"]
    how = {
        True: said("the main process loads it itself"),
        False: said("the workers don't keep up"),
        None: said("it comes too late"),
    }
    text = how[alone]
    if taken_over:
        text = said(
            "{received} of that is receiving batches that are ready ({names})",
            received=percent(received), names=s(receiving).names[0],
        )  # fmt: skip
    longest, most = found.longest(), s(wait_ns)
    ways: tuple[Action, ...] = (*(_WORKERS if alone else (_MORE, _AHEAD)), _CHEAPER)
    if alone and (beside := _beside_ns(s)) is not None:
        full = beside < limits["min_share"] * s(step_ns)
        ways, most = ((_CHEAPER,), most) if full else (ways, min(most, beside))
    yield Draft(
        title="The step waits for data",
        summary=said(
            "The step waits {wait} ({share} of the step) for its batch; {text}.",
            wait=duration(s(wait_ns)), share=percent(share), text=text,
        ),
        actions=_RECEIVE if taken_over else ways,
        change=Change(host=(Scaled(found.events, 0.0),)),
        most_ns=most,
        unlinked_ns=s.maybe(data_wait_idle_ns),
        events=found.events[longest],
        rows=({"table": "dataloader", "where": {"name": found.names[longest[0]]}},),
        numbers={wait_ns.name: s(wait_ns), wait_share.name: share, **limits},
    )  # fmt: skip


def _beside_ns(s: Signals) -> int | None:
    """What loading batches beside the step can save of it at most: its work takes the processors that there are."""
    use = s.maybe(processors)
    if use is None or not use.cores:
        return None
    return round(s(step_ns) * max(1.0 - use.job / use.cores, 0.0))


RULE = Rule(
    "DAT001",
    "loader-wait",
    thresholds=(
        Threshold(
            "min_share", 0.01, "share", "What costs less than 1 % of the step is not shown; torch-tb-profiler used 5 %."
        ),
        Threshold("min_waits", 2, "count", "A single one may start the loader, or be an odd one."),
        Threshold("min_received", 0.5, "share", "Most of the wait: more workers would not shorten it."),
    ),
    check=check,
    symptom_of=("DAT003", "DAT005", "DAT007", "DAT008", "SYS007"),
)
