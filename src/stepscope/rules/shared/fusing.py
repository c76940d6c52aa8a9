"""What the rules about sequences that could be one operator have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import duration
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Threshold
from stepscope.rules.wording import often
from stepscope.signals import Signal, Signals
from stepscope.signals.kernels.fusions import Fusion
from stepscope.signals.shared.idleness import waiting_for_host_share
from stepscope.signals.shared.job import per_step, recorded_steps
from stepscope.signals.shared.roles import ROLE_NAMES

#: Operations that a summary lists.
_MOST: Final = 9
#: Share of the step in which the device waits for the host, from which on the host's time is worth a word.
_LIMITING: Final = 0.05
ONE: Final = said("one operator")
#: What all of them are held against.
MIN_SHARE: Final = Threshold(
    "min_share",
    0.01,
    "share",
    "What costs less than 1 % of the step is not shown; msprof-analyze lists fusible sequences from there.",
)


def fused(
    s: Signals, limits: Limits, wanted: Signal[Fusion], words: tuple[str, str], actions: Sequence[Action],
    instead: str = ONE,
) -> Iterator[Draft]:  # fmt: skip
    """Say what fusing sequences would save, if it is enough.

    Args:
        s: Signals of the rank.
        limits: With `min_share`.
        wanted: The sequences.
        words: Title, and what a sequence is called in the middle of a sentence.
        actions: What to do.
        instead: What would do the same.
    """
    found = s(wanted)
    if not found.count or found.share < limits["min_share"]:
        return
    steps = s(recorded_steps)
    letters = str(len(found.letters))
    number = letters if found.alike else said("up to {number}", number=letters)
    before, after = (duration(per_step(s, ns)) for ns in (found.before_ns, found.after_ns))
    host, left = (duration(ns // steps) for ns in (found.host_ns, found.host_after_ns))
    # A host that the device never waits for waits on a full queue, so that its calls look longer than they are.
    limiting = s.maybe(waiting_for_host_share)
    shorter = found.host_ns > found.host_after_ns and (limiting is None or limiting >= _LIMITING)
    if not shorter and found.before_ns == found.after_ns:
        return
    times = (
        said("{before} of the device's time and {host} of the host's", before=before, host=host) if shorter else before
    )
    yield Draft(
        title=words[0],
        summary=said(
            "{often}, {words} runs as {number} operations one after another ({parts}): they take {times} "
            "per step where {instead} would take about {after}{shorter}.",
            often=often(found.count / steps).capitalize(), words=words[1], number=number, parts=parts(found),
            times=times, instead=instead, after=after, shorter=said(" and {left}", left=left) if shorter else "",
        ),
        actions=tuple(actions),
        change=found.change,
        # What the sentence does not speak of is not its price: the host's time is none where it limits nothing.
        most_ns=(found.saved_ns if shorter else per_step(s, found.before_ns - found.after_ns) * steps) // steps,
        confidence=found.confidence,
        events=found.events,
        ranges=found.ranges,
        rows=tuple({"table": "kernels_by_operator", "where": {"operator": name}} for name in _distinct(found)[:4]),
        numbers={f"{wanted.name}.share": round(found.share, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


def parts(found: Fusion) -> str:
    """The operations of the longest sequence, as people would list them."""
    names = [name.partition("::")[2].strip("_") or name for name in found.operators]
    words = names or [ROLE_NAMES[letter] for letter in found.letters]
    shown = [word for i, word in enumerate(words) if i == 0 or word != words[i - 1]]
    return listing(shown if len(shown) <= _MOST else [*shown[: _MOST - 1], "..."])


def _distinct(found: Fusion) -> list[str]:
    return list(dict.fromkeys(found.operators))
