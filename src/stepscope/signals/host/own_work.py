"""Functions that the host is in while the device is idle and nothing is launched for milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.host_work import host_work
from stepscope.analyses.shared import host_states as states
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Ids, Spans, named, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, distinct
from stepscope.signals.host.host import idle, line
from stepscope.signals.host.samples import Sampled, sampled
from stepscope.signals.shared.job import step_ns
from stepscope.signals.signal import Signals, signal

#: What tells what the host does, the most telling first: what the program itself names, then calls of the system.
_NAMED: Final = (("python",), ("annotation", "module", "op"))
_CALLS: Final = ("other",)
#: A thread that runs for this share of the time is at work of its own; else what it waits in tells more.
_RUNS: Final = 0.5
#: A function is named if it covers this much of the time, and a part of it from here on.
_MOST, _PART = 0.5, 0.1
#: Where what has a name is mostly input, it is said of all that time if it is as much of it.
_INPUT_SHARE: Final = 0.35
#: Events that take less of that time make no difference; a function that is called once per frame takes more.
_LEAST: Final = 0.0002
#: Functions of the interpreter and of libraries that only pass calls on.
_PASSING: Final = re.compile(
    r"^<(?!built-in function sleep>)|_call_impl|_wrapped_call|: wrapper$|: inner$|<module>|: <lambda>|contextlib|"
    r"torch/utils/_contextlib|"
    r"threading\.py|torch/profiler|runpy\.py|: __call__$|: main$"
)
#: Functions without a name of their own: they are parts of the one around them, whose name says what it is for.
_NAMELESS: Final = re.compile(r": <(\w+comp|genexpr|lambda)>$")
#: A pause that the program makes, as recorded by PyTorch and JAX, and as called: who makes it is named before it.
_RECORDED_SLEEP, _SLEEP = ("<built-in function sleep>", "$time sleep"), "time.sleep"
#: Names of what turns input into batches: reading, decoding, transforming, tokenising. A server's runner calls the
#: filling of its batch preprocessing, too, and its scheduler gets the next batch of requests.
_INPUT: Final = re.compile(
    r"(?<!gpu_model_runner: )pre_?process|"
    r"image_process|video_process|feature_extract|processing_|tokeni[sz]|collate|transforms?[./:_]|"
    r"(read|load|decode|open|fetch)_?(image|video|audio|data|batch|sample|file|csv|parquet|frame|jpe?g|examples?)|"
    r"(get|next|sample)_?batch(?!\w*_to_run)|batch[-_ ]generat|data_?(loading|iter)|tfrecord|tf\.data|"
    r"(^|/)dali/|nvidia\.dali|dataset|augment|(^|/)PIL/|cv2|librosa|torchaudio|torchcodec|decord|pyav",
    re.IGNORECASE,
)
#: Names of what brings weights or files to the program: reading checkpoints, downloading.
FETCHING: Final = re.compile(
    r"(?<![a-z])(un)?pickl|serialization\.py|safetensors|from_pretrained|check_?point|state_dict|"
    r"download|hub\.py|snapshot_|urlopen|urlretrieve|requests/|http|s3fs|gcsfs|load_?(weights|model|file)|"
    r"(^|: |/)load$",
    re.IGNORECASE,
)
#: Calls of the operating system in which a program waits for somebody else: a person, a peer, time.
_ASKING: Final = re.compile(
    r"^(f?getc|getchar|f?gets|getline|getdelim|readline|scanf|poll|ppoll|select|pselect|epoll_p?wait|futex|"
    r"pthread_(cond_(timed)?wait|join|mutex_lock)|sem_(timed)?wait|(clock_)?nanosleep|u?sleep|recv(msg|from)?|accept4?|"
    r"wait4|waitpid|sched_yield|sigtimedwait|sigwait)$"
)


@dataclass(frozen=True, slots=True)
class Doing:
    """Host work in such stretches of the steps, or of the time in which the device is in use.

    Attributes:
        found: The stretches.
        name: The innermost function or range that covers half of them; empty if none does.
        parts: Where in it the time goes: functions, with their own share of all that time, the largest first.
        beside: The same of functions outside of it; empty without a name.
        prepares: Whether these read, decode, transform or tokenise input.
    """

    found: Intervals
    name: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    prepares: bool = False
    beside: tuple[tuple[str, float], ...] = ()

    @property
    def told(self) -> float:
        """The share of all that time for which a name is known."""
        return sum(share for _, share in (*self.parts, *self.beside))

    @property
    def sleeps(self) -> bool:
        """Whether most of it is a pause that the program makes itself."""
        return sum(share for one, share in (*self.parts, *self.beside) if one == _SLEEP) >= _MOST

    @property
    def fetches(self) -> bool:
        """Whether most of it that has a name reads checkpoints or files, or downloads."""
        every = (*self.parts, *self.beside)
        fetching = sum(share for one, share in every if FETCHING.search(one))
        return bool(FETCHING.search(self.name)) or 2 * fetching > sum(share for _, share in every)


@signal("share")
def own_work_share(s: Signals) -> float:
    """Time in which the device is idle and the host makes no runtime call for milliseconds, as a share of the step."""
    return s(idle).get(("host_dispatch", "host_work"), 0) / s(step_ns)


@signal()
def own_work(s: Signals) -> Doing:
    """Host work while the device is idle and nothing is launched for milliseconds."""
    starts, ends = s(line).of(states.OP, states.PYTHON, states.OTHER)
    found = Intervals.union_of(starts, ends) & s.trace.once(host_work)
    for device in s.trace.once(device_times):
        found = found - device.busy
    return told(s, found - asking(s))


@signal()
def others_awaited(s: Signals) -> Doing:
    """Idle time of the device while the main thread waits in the operating system: for a thread, a process, time."""
    starts, ends = s(line).of(states.OP, states.PYTHON, states.OTHER)
    found = Intervals.union_of(starts, ends) & s.trace.once(host_work) & asking(s)
    for device in s.trace.once(device_times):
        found = found - device.busy
    return _told(s, found, _CALLS)


@signal()
def before_new_kernels(s: Signals) -> bool:
    """Whether kernels run after the longest stretch of the host's own work, like which none ran before it."""
    found, work = s(own_work).found, DeviceWork.of(s.trace)
    if not len(found):
        return False
    end = int(found.ends[np.argmax(found.ends - found.starts)])
    compute = work.are("compute")
    late = compute & (work.ts >= end)
    return not np.isin(distinct(work.name[late]), distinct(work.name[compute & ~late])).all()


def asking(s: Signals) -> Intervals:
    """When the main thread waited in an operating-system call for another thread or process."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    waits = [name_id for name_id, name in names.items() if _ASKING.match(name)]
    at = np.flatnonzero(spans.of("other") & np.isin(spans.name, waits) & (spans.track == _main(s)))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def told(s: Signals, found: Intervals) -> Doing:
    """Functions, ranges or calls that the main thread is in during these stretches."""
    for categories in _NAMED:
        doing = _told(s, found, categories)
        if doing.name or doing.told >= _MOST:
            return doing
        # Functions that are recorded in a part of it leave the rest to the ranges around them.
        wider = _told(s, found, (*categories, "annotation"))
        if wider.told > doing.told:
            return wider
        if doing.parts:
            return doing
    seen = sampled(s.trace, found, _main(s)) if found.total else Sampled()
    by_samples = Doing(found, seen.name, seen.parts, bool(_INPUT.search(seen.name)))
    if seen.running >= _RUNS and (seen.name or seen.parts):
        return by_samples
    calls = _told(s, found, _CALLS)
    return calls if calls.name or calls.parts else by_samples


def _told(s: Signals, found: Intervals, categories: tuple[str, ...]) -> Doing:
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    if not found.total:
        return Doing(found)
    least = max(int(_LEAST * found.total), 1)
    at = np.flatnonzero(spans.of(*categories) & (spans.dur >= least) & (spans.track == _main(s)))
    at = at[~named(s.trace, _PASSING.search)[at]]
    if not at.size:
        return Doing(found)
    at = at[np.lexsort((spans.id[at], -spans.dur[at], spans.ts[at]))]
    ts, stop = spans.ts[at], spans.ts[at] + spans.dur[at]
    inside = found.within(ts, stop)
    some = inside >= least
    at, ts, stop, inside = at[some], ts[some], stop[some], inside[some]
    if not at.size:
        return Doing(found)
    around = _around(ts, stop)
    depth, own = np.zeros(at.size, np.int64), inside.copy()
    for one, outer in enumerate(around.tolist()):
        if outer >= 0:
            depth[one] = depth[outer] + 1
            own[outer] -= inside[one]
    name, index = np.unique(spans.name[at], return_inverse=True)
    covers = np.array([_covered(found, ts[index == k], stop[index == k]) for k in range(name.size)])
    deepest = np.zeros(name.size, np.int64)
    np.maximum.at(deepest, index, depth)
    recorded = [names[one] for one in name.tolist()]
    labels = [_SLEEP if one in _RECORDED_SLEEP else one for one in recorded]
    inner = np.array([label == _SLEEP or bool(_NAMELESS.search(label)) for label in labels])
    most = np.flatnonzero((covers >= _MOST * found.total) & ~inner)
    chosen = int(most[np.lexsort((covers[most], deepest[most]))[-1]]) if most.size else -1
    within = np.full(at.size, chosen < 0)
    for one, outer in enumerate(around.tolist()):
        within[one] |= index[one] == chosen or (outer >= 0 and within[outer])
    parts = _largest(labels, np.bincount(index, own * within, name.size), found.total)
    beside = _largest(labels, np.bincount(index, own * ~within, name.size), found.total)
    whole = labels[chosen] if chosen >= 0 else ""
    every = (*parts, *beside)
    prepares = [share for one, share in every if _INPUT.search(one)]
    most_named = 2 * sum(prepares) > sum(one for _, one in every)
    is_input = bool(_INPUT.search(whole)) or (most_named and sum(prepares) >= _INPUT_SHARE)
    return Doing(found, whole, parts, is_input, beside)


def _largest(labels: list[str], owns: NDArray[Any], total: int) -> tuple[tuple[str, float], ...]:
    """The functions with the most time of their own, as shares of all."""
    order = [k for k in np.argsort(-owns, kind="stable").tolist() if owns[k] >= _PART * total][:3]
    return tuple((labels[k], float(owns[k]) / total) for k in order)


def _around(ts: NDArray[np.int64], stop: NDArray[np.int64]) -> Ids:
    """Position of the innermost event around each of n events by start, the longest first; -1 for none."""
    found, opened = np.full(ts.size, -1), list[int]()
    for one, (start, end) in enumerate(zip(ts.tolist(), stop.tolist(), strict=True)):
        while opened and stop[opened[-1]] < end:
            opened.pop()
        while opened and stop[opened[-1]] <= start:
            opened.pop()
        found[one] = opened[-1] if opened else -1
        opened.append(one)
    return found


def _covered(found: Intervals, ts: NDArray[np.int64], stop: NDArray[np.int64]) -> int:
    return (found & Intervals.union_of(ts, stop)).total


def _main(s: Signals) -> int:
    hosts = s.trace.once(host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    return hosts.feeders[0]
