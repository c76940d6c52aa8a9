"""Decode passes read all weights for a few tokens.

## What it finds
A server whose decode passes have few requests and spend most of their time in matrix multiplications.

## Why it matters
A multiplication with a few rows takes as long as reading its weights, whether for one token or for thirty. Requests
that join the batch are almost free; requests that come in other passes pay for the weights again.

## How it decides
Passes that only decode take at least half of the passes' time and make `max_tokens` tokens or fewer on average (drafts
count as tokens), and GEMMs, those of experts included, take `min_share` of their device time (`serving.role_ns`). The
price is what is saved if two such passes are one, for the same number of tokens: half of the time of GEMMs other than
those of experts.

## What to try
Let more requests into a pass (`--max-num-seqs`, `--max-running-requests`), send requests at once, put the load of
several replicas on one, verify drafts (speculative decoding), or make the weights smaller (FP8, 4 bits).

## Known limits
How many requests there were to serve is not recorded: with a single user there is nothing to join, and smaller weights
or speculative decoding remain. Experts are read only where a token is sent to them: they are not in the price.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.host_advice import LARGER_BATCHES
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.serving import decoding, passes, role_ns

#: Part of the passes' time that must be decode, and part of the GEMMs that a pass saves which two become.
_MOSTLY = 0.5
_HALF = 0.5


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare tokens per decode pass, and the share of GEMMs."""
    rows = [row for row in s(decoding) if row["answer_tokens"]]
    if not rows:
        return
    length = sum(row["device_ns"] for row in rows)
    tokens = sum(row["answer_tokens"] for row in rows) / len(rows)
    if length < _MOSTLY * sum(row["device_ns"] or 0 for row in s(passes)) or tokens > limits["max_tokens"]:
        return
    times = s(role_ns)
    dense, experts = times.get(("decode", "gemm"), 0), times.get(("decode", "moe"), 0)
    share = (dense + experts) / max(sum(ns for (phase, _), ns in times.items() if phase == "decode"), 1)
    if share < limits["min_share"]:
        return
    yield Draft(
        title="Decode passes read all weights for a few tokens",
        summary=said(
            "{passes} of {length} make {tokens:.3g} tokens each, and {share} of their device time is "
            "matrix multiplications, which take as long for several times as many tokens.",
            passes=plural(len(rows), "decode pass", "decode passes"), length=duration(length // len(rows)),
            tokens=tokens, share=percent(share),
        ),
        actions=LARGER_BATCHES,
        cost_ns=round(_HALF * dense / s(recorded_steps)) if dense else None,
        confidence=0.6,
        rows=({"table": "serving_roles", "where": {"phase": "decode"}},),
        numbers={"tokens per pass": tokens, "GEMM share": share, **limits},
    )  # fmt: skip


RULE = Rule(
    "KRN023",
    "short-decode-batches",
    thresholds=(
        Threshold("max_tokens", 8, "tokens", "Tiles of tensor cores have 8 rows or more: up to there a row is free."),
        Threshold("min_share", 0.4, "share", "Below, attention or the host is what takes the time."),
    ),
    check=check,
)
