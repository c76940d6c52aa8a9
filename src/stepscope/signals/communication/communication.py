"""Collectives: duration, exposed time, and how much of it is transfer instead of waiting for ranks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.collective_transfers import transfers
from stepscope.analyses.shared.job_size import job_size
from stepscope.analyses.stepgraph.building.peers import quickest
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.communication.long_calls import standing_out
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.step_columns import StepColumns
from stepscope.signals.signal import Signals, signal

_PEERS_SQL: Final = "SELECT greatest(max(src), max(dst)) + 1 FROM comm_tasks WHERE link <> 'ON_CHIP'"
#: What two ranks exchange.
P2P: Final = ("send", "recv", "send_recv")
#: What the table of calls has for a group that is not recorded.
NO_GROUP: Final = "default"
#: The host's thread that launched each collective does backward work if an autograd node or its engine ran there.
_BACKWARD: Final = re.compile(r"autograd::engine|.*(Backward0|AccumulateGrad.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CollectiveCalls(StepColumns):
    """The n collectives on the rank's devices in complete steps, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n].
        dur: int64[n], on this rank, waiting included.
        exposed: int64[n], the part of it behind which no compute ran.
        transfer: int64[n], the part of it that is transfer; all of it where nothing tells, but see `long`. A send or
            receive of known group or size waits for the other side by its nature: then it is what the quickest of the
            kind took for its size.
        told: bool[n], whether the transfer is that: the library recorded it, or all participants' recordings are at
            hand. If not, it is no less than the transfer.
        long: bool[n], whether it lasts many times as long as its like (`long_calls.standing_out`), with no recording of
            another participant at hand: its transfer is what is enough for them.
        step: int64[n].
        bytes: int64[n], -1 if not recorded.
        world: int64[n], ranks of the group, -1 if not recorded.
        name: str[n], kind of collective.
        group: str[n].
        steps: Number of complete steps.
    """

    event: NDArray[np.int64]
    ts: Times
    dur: Times
    exposed: Times
    transfer: Times
    told: NDArray[np.bool_]
    long: NDArray[np.bool_]
    step: NDArray[np.int64]
    bytes: NDArray[np.int64]
    world: NDArray[np.int64]
    name: NDArray[np.str_]
    group: NDArray[np.str_]
    steps: int

    @property
    def exposed_transfer(self) -> Times:
        """Upper bound of the exposed part of each transfer, int64[n] ns: waiting comes first and is left out."""
        return np.minimum(self.exposed, self.transfer)

    @property
    def exposed_ns(self) -> int:
        """Sum of `exposed_transfer`, at most the time in which any of the calls runs, ns."""
        running = Intervals.union_of(self.ts, self.ts + self.dur).total
        return min(int(self.exposed_transfer.sum()), running)

    @property
    def known(self) -> bool:
        """Whether transfer is distinguished from waiting for all calls."""
        return bool(self.told.all())


@signal()
def calls(s: Signals) -> CollectiveCalls:
    """Collectives on the rank's device in complete steps, with the transfer time of each."""
    return _calls_in(s, Steps.of(s.trace).typical_steps)


@signal()
def all_calls(s: Signals) -> CollectiveCalls:
    """Collectives of all recorded steps, typical or not, with the transfer time of each."""
    return _calls_in(s.whole, Steps.of(s.whole.trace).step)


def _calls_in(s: Signals, complete: NDArray[np.int32]) -> CollectiveCalls:
    rows = s.table("collective_calls").arrow
    column = {
        name: _ints(rows[name])
        for name in ("event", "ts", "dur", "step", "bytes", "world_size", "exposed_ns", "device")
    }
    chosen = np.isin(column["step"], complete) & (column["exposed_ns"] >= 0)
    # Of a process with several devices, the one whose collectives take longest decides: they take the same time.
    if (device := column["device"][chosen]).size:
        chosen &= column["device"] == np.argmax(np.bincount(device + 1, column["dur"][chosen])) - 1
    if not chosen.any():
        raise MissingInputError(
            "no step of the recording has collectives on a device",
            hint="record some whole steps of a job of several ranks, with its devices",
        )
    column = {name: values[chosen] for name, values in column.items()}
    known = s.trace.once(transfers)
    transfer, ranks = known.of(column["event"], column["dur"])
    names, groups = _words(rows["name"], chosen), _words(rows["group"], chosen)
    world = np.where(column["world_size"] < 0, _world(s), column["world_size"])
    complete_job = (world < 0) & (ranks > 1) & _from_one_file(s)
    told = (ranks == 0) | ((world > 0) & (ranks >= world)) | complete_job
    enough = standing_out(names, groups, column["bytes"], transfer)
    long = ~told & (ranks == 1) & (enough < transfer)
    transfer = np.where(long, enough, transfer)
    # The kernel of a send is that of an exchange among all ranks as well: without group and size nothing is alike.
    waits = np.isin(names, P2P) & ~told & ~long & ((column["bytes"] > 0) | (groups != NO_GROUP))
    for group, kind in {*zip(groups[waits].tolist(), names[waits].tolist(), strict=True)}:
        mine = np.flatnonzero(waits & (groups == group) & (names == kind))
        size, dur = np.maximum(column["bytes"][mine], 0), column["dur"][mine]
        transfer[mine] = np.minimum(transfer[mine], quickest(size, dur))
    return CollectiveCalls(
        column["event"], column["ts"], column["dur"], column["exposed_ns"], transfer, told, long, column["step"],
        column["bytes"], world, names, groups, max(complete.size, 1),
    )  # fmt: skip


@signal("share")
def exposed_share(s: Signals) -> float:
    """Exposed time of collectives as a share of the mean step, including waiting for late ranks."""
    found = s(calls)
    return float(found.exposed.sum()) / found.steps / s(step_ns)


@signal("share")
def link_share(s: Signals) -> float:
    """Time in which a collective runs, overlapped with compute or not, as a share of the mean step."""
    found = s(calls)
    return Intervals.union_of(found.ts, found.ts + found.dur).total / found.steps / s(step_ns)


@signal("share")
def transfer_share(s: Signals) -> float:
    """Exposed time of collectives without waiting for late ranks, where that is known, as a share of the mean step."""
    found = s(calls)
    return found.exposed_ns / found.steps / s(step_ns)


@signal()
def in_backward(s: Signals) -> NDArray[np.bool_]:
    """Whether the backward thread launched each of `communication.calls`."""
    work = DeviceWork.of(s.trace)
    threads = np.unique(Spans(s.trace).track[named(s.trace, _BACKWARD.match)])
    launched = work.are("comm") & work.launched & np.isin(work.thread, threads)
    found: NDArray[np.bool_] = np.isin(s(calls).event, work.event[launched])
    return found


def _world(s: Signals) -> int:
    """Number of ranks where the group does not tell: those with recorded transfers, or all of the job."""
    return int(s.trace.scalar(_PEERS_SQL) or s.trace.recordings[s.rank].world_size or -1)


def _from_one_file(s: Signals) -> bool:
    """Whether one file holds all ranks, as an Nsight Systems report of a host does, so that others are unlikely."""
    size = s.trace.job.once(job_size)
    return size.sources == 1 and size.ranks > 1


def _ints(column: Any) -> NDArray[np.int64]:
    filled: NDArray[np.int64] = column.fill_null(-1).to_numpy().astype(np.int64)
    return filled


def _words(column: Any, chosen: NDArray[np.bool_]) -> NDArray[np.str_]:
    words: Sequence[str] = column.to_pylist()
    return np.array(words, dtype=np.str_)[chosen]
