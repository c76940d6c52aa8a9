"""Much of what batches hold is padding.

## What it finds
Batches of samples of different lengths that are padded to the longest one, where padding is a large part of the batch.

## Why it matters
The model computes on padding as on data: of a batch that is half padding, half of the work of all layers is for
nothing, and attention's more than that.

## How it decides
By the shapes of the tensors that `pad_sequence` gets: padding must be `min_padded` of what it returns, over at least
`min_batches` calls. It is advice: whether the model leaves padding out, as attention on packed sequences does, is not
recorded.

## What to try
Batches of samples of similar length, several short samples packed into one row, or kernels for sequences of different
lengths.

## Known limits
Batches that are padded in worker processes, by tokenizers or by hand, and samples that were padded to a fixed length
before, leave no lengths in a recording: nothing is said of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.padding import padding

_GROUP = Action(
    "Put samples of similar length into a batch, and limit its tokens instead of its samples",
    before="DataLoader(dataset, batch_size=32, shuffle=True, collate_fn=pad)",
    after="DataLoader(dataset, batch_sampler=LengthGroupedBatches(lengths, max_tokens=16_384), collate_fn=pad)",
    page="data-loading",
)
_PACK = Action(
    "Pack short samples into one row, and tell attention where each starts",
    before="y = attention(q, k, v, key_padding_mask=mask)",
    after="y = flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, longest, longest, causal=True)",
    page="flash-attention",
    needs=("a device",),
)
#: Kernels for packed samples are those of devices.
_ALIKE = Action(
    "Put inputs of similar length into a batch: sort those that wait by their length",
    before="batch = waiting[:size]",
    after="batch = sorted(waiting, key=len)[:size]",
    page="data-loading",
    needs=("no device", "python"),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare padding with what batches hold."""
    found = s(padding)
    if found.batches < limits["min_batches"] or found.padded < limits["min_padded"]:
        return
    yield Draft(
        title="Much of what batches hold is padding",
        summary=said(
            "{padded} of what {batches} hold is padding: samples are {mean:,.0f} long on average, and padded to "
            "{longest:,.0f}.",
            padded=percent(found.padded), batches=plural(found.batches, "batch", "batches"), mean=found.mean,
            longest=found.longest,
        ),
        actions=(_GROUP, _ALIKE, _PACK),
        confidence=0.7,
        events=found.events[:20],
        rows=({"table": "operators", "where": {"name": "aten::pad_sequence"}},),
        numbers={"padded": round(found.padded, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "DAT009",
    "padded-batches",
    thresholds=(
        Threshold("min_padded", 0.25, "share", "Below a quarter, grouping samples hardly pays for its order."),
        Threshold("min_batches", 2, "count", "One batch may have one long sample by chance."),
    ),
    check=check,
    whole=True,
)
