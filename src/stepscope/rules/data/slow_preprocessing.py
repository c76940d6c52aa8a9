"""Preparing or reading a batch makes up most of the wait for data.

## What it finds
Where the main process loads its batches itself, the recording shows what it does meanwhile: operators (decoding,
transforms, collation) or calls that read files. This rule says which of the two makes up most of the wait.

## Why it matters
The remedies differ. Slow preparation wants more processes, cheaper transforms or the device; slow reading wants fewer
and larger files, a nearer disk and requests in parallel.

## How it decides
The wait for batches must be `min_wait` of the step, and one kind of work must make up `min_part` of it
(`loader_activity.preparing_share`, `loader_activity.reading_share`). The price is what the step would save on its
dependency graph without that work.

## What to try
Preparation: do once what is the same in every epoch and store the result; decode with a faster library; transform whole
batches, on the device. Reading: pack many small files into a few large ones, keep them on a local disk, read ahead.

## Known limits
Worker processes are not recorded; record some steps with `num_workers=0` to see their work. Reads are recognised only
where calls of the operating system are recorded (Nsight Systems, `--trace=osrt`); other Python code is not classified.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import wait_share
from stepscope.signals.data.loader_activity import Inside, preparing, preparing_share, reading, reading_share

_PREPARE = (
    Action(
        "Prepare once what is the same in every epoch, and store it in a form that needs no decoding",
        before="Image.open(path).convert('RGB').resize((256, 256))  # for every sample, in every epoch",
        after="samples = np.load('train_256.npy', mmap_mode='r')  # resized once, before the job",
        page="data-loading",
    ),
    Action(
        "Transform whole batches on the device",
        before="transform = Compose([RandomResizedCrop(224), ToTensor(), Normalize(mean, std)])",
        after="images = images.to(device, non_blocking=True)  # uint8: a quarter of the bytes\n"
        "images = transforms_v2(images)  # torchvision.transforms.v2 on a batch of tensors",
        page="data-loading",
    ),
)
_READ = (
    Action(
        "Pack many small files into a few large ones, and read them in order",
        before="ImageFolder('/shared/train')  # a million files",
        after="webdataset.WebDataset('/local/train-{0000..0127}.tar')",
        page="data-loading",
    ),
    Action("Keep the data on a local disk, and read ahead in worker processes", page="prefetching"),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what runs inside the waits with their length."""
    if s(wait_share) < limits["min_wait"]:
        return
    if s(preparing_share) >= limits["min_part"]:
        yield _draft(said("Preparing batches is the bottleneck"), s(preparing), s(preparing_share), _PREPARE, limits)
    if s(reading_share) >= limits["min_part"]:
        yield _draft(said("Reading batches is the bottleneck"), s(reading), s(reading_share), _READ, limits)


def _draft(title: str, inside: Inside, share: float, actions: tuple[Action, ...], limits: Limits) -> Draft:
    return Draft(
        title=title,
        summary=said(
            "The main process loads batches itself and spends {share} of the wait in {names}.",
            share=percent(share), names=", ".join(inside.names),
        ),
        actions=actions,
        change=Change(host=(Scaled(inside.events, 0.0),)),
        confidence=0.8,
        events=inside.events[:20],
        numbers={"share_of_wait": share, "min_part": limits["min_part"], "min_wait": limits["min_wait"]},
        key=title,
    )  # fmt: skip


RULE = Rule(
    "DAT004",
    "slow-preprocessing",
    thresholds=(
        Threshold("min_wait", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_part", 0.5, "share", "Most of the wait; xprof calls a step bound by the host from 50 % of the "
                  "input time on."),
    ),
    check=check,
    symptom_of=("DAT001",),
)  # fmt: skip
