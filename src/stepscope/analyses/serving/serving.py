"""Passes of a server over its batches: what each does, and what it takes on the host and on the device."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.serving.execution import execution, padded_tokens, reason
from stepscope.analyses.serving.host_part import sampling, scheduling
from stepscope.analyses.serving.passes import ServedPass, served_passes
from stepscope.analyses.serving.roles import ROLES, roles
from stepscope.analyses.serving.token_bytes import token_bytes
from stepscope.analyses.shared.peaks import known_devices
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace


def _told(name: str, description: str) -> Column:
    return Column(name, "int64", description, "count", True)


SERVING: Final = TableSchema(
    "serving",
    "One row per pass of a server over a batch, in time order, by the ranges that servers mark them with.",
    (
        RANK,
        ns("ts", "Start on the host."),
        text("phase", "prefill (prompts are read), decode (a token per request is made), mixed, or unknown where the "
             "range tells neither."),
        count("requests", "Requests in the batch."),
        _told("tokens", "Tokens that are read or made; null if not told."),
        ns("host_ns", "Duration on the host."),
        ns("device_ns", "From the first to the end of the last device work launched in it, without a few copies that "
           "lie long before the rest; null if there is none.",
           nullable=True),
        Column("tokens_per_s", "float64", "Tokens over device_ns; null if either is not known.", "", True),
        _told("prompts", "Requests whose prompts are read; null if not told."),
        _told("answers", "Requests whose answers are made; null if not told."),
        _told("prompt_tokens", "Tokens of prompts that are read; null if not told."),
        _told("answer_tokens", "Tokens of answers that are computed, with drafts that are verified; null if not told."),
        _told("context_tokens", "Tokens in the cache that the answers attend to; null if not told."),
        fraction("occupancy", "Requests over those of the largest batch in the recording."),
        ns("idle_ns", "Part of device_ns in which the device did nothing; null without device work.", nullable=True),
        ns("gap_ns", "Time without device work between the end of the previous pass's and the start of this one's; "
           "null for the first.", nullable=True),
        ns("scheduler_ns", "Host time in functions of the scheduler since the previous pass ended, until this one "
           "ends; null where none is recorded.", nullable=True),
        ns("sampler_ns", "Host time in functions that choose tokens, until the next pass starts; null where none is "
           "recorded.", nullable=True),
        count("launches", "Calls that launched its device work."),
        count("graphs", "Of these, graphs that were replayed."),
        text("execution", "graph (one graph has most kernels), piecewise (several have), eager; null without kernels.",
             nullable=True),
        text("reason", "Why it is eager, as far as the other passes of the recording tell; else null.", nullable=True),
        _told("padded_tokens", "Rows that its layers computed, padding included; null where shapes do not tell."),
        Column("cache_bytes", "int64", "Keys and values of context_tokens, at most, for layers may see a part of them "
               "only; of decode passes; null where size or number of tokens are not told.", "bytes", True),
        fraction("cache_rate_share", "cache_bytes over the time of attention, as a share of the device's peak memory "
                 "bandwidth; null where any of these is not known.", nullable=True),
    ),
)  # fmt: skip


def serving(trace: Trace) -> Table:
    """The passes of a server; no rows where no range is named as servers name theirs."""
    passes = trace.once(served_passes)
    if not passes:
        return Table.empty(SERVING)
    work = DeviceWork.of(trace)
    [rank] = trace.ranks
    real = ~work.are("sync")
    busy = Intervals.union_of(work.ts[real], work.ts[real] + work.dur[real])
    told = [execution(one, work) for one in passes]
    ways = [way for way, _ in told]
    largest = max(one.batch.requests for one in passes)
    host = _host(trace, passes)
    padded, attention = trace.once(padded_tokens), _attention(trace, passes, work)
    per_token, bandwidth = trace.once(token_bytes), _bandwidth(trace)
    rows: list[tuple[Any, ...]] = []
    end: int | None = None
    for i, one in enumerate(passes):
        batch, span = one.batch, one.device_ns
        idle = gap = None
        if one.device_start is not None and one.device_end is not None:
            idle = one.device_end - one.device_start - int(busy.within(one.device_start, one.device_end)[0])
            gap = (
                None
                if end is None
                else max(one.device_start - end, 0) - int(busy.within(min(end, one.device_start), one.device_start)[0])
            )
            end = one.device_end if end is None else max(end, one.device_end)
        rate = batch.tokens / span * 1e9 if batch.tokens and span else None
        held = None
        if batch.phase == "decode" and per_token is not None and batch.context_tokens is not None:
            held = per_token * batch.context_tokens
        share = held / (attention[i] / 1e9) / bandwidth if held and attention[i] and bandwidth else None
        rows.append((
            rank, one.start, batch.phase, batch.requests, batch.tokens, one.stop - one.start, span, rate,
            batch.prompts, batch.answers, batch.prompt_tokens, batch.answer_tokens, batch.context_tokens,
            batch.requests / largest, idle, gap, *host[i], int(np.unique(work.launch[one.work]).size), told[i][1],
            ways[i], reason(i, passes, ways), padded[i], held, share,
        ))  # fmt: skip
    return Table.from_rows(SERVING, rows)


def _host(trace: Trace, passes: list[ServedPass]) -> list[tuple[int | None, int | None]]:
    """Time in the scheduler and in the sampler of each pass."""
    scheduler, sampler = trace.once(scheduling), trace.once(sampling)
    starts = np.array([one.start for one in passes], np.int64)
    stops = np.array([one.stop for one in passes], np.int64)
    before = np.append(starts[:1], stops[:-1])
    after = np.append(starts[1:], np.iinfo(np.int64).max)
    nothing: list[int | None] = [None] * len(passes)
    scheduled = nothing if scheduler is None else scheduler.within(before, stops).tolist()
    sampled = nothing if sampler is None else sampler.within(starts, after).tolist()
    return list(zip(scheduled, sampled, strict=True))


def _attention(trace: Trace, passes: list[ServedPass], work: DeviceWork) -> list[int]:
    """Time of attention in each pass, ns."""
    is_attention = trace.once(roles) == ROLES.index("attention")
    found = []
    for one in passes:
        mine = one.work[is_attention[one.work]]
        found.append(Intervals.union_of(work.ts[mine], work.ts[mine] + work.dur[mine]).total)
    return found


def _bandwidth(trace: Trace) -> float | None:
    """Peak memory bandwidth of the rank's devices, bytes/s, if they are known and alike."""
    rates = {device.memory_bandwidth for device in known_devices(trace).values()}
    return next(iter(rates)) if len(rates) == 1 else None


ANALYSES = (Analysis(SERVING, serving),)
