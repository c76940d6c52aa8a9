"""Changes of what runs on the device: kernels, copies and collectives."""

from __future__ import annotations

from typing import Any

from bench.comparing.trace import PlantedTrace, correlation
from bench.comparing.truth import (
    LEAST,
    SHARE,
    NotThereError,
    Truth,
    alone,
    apart,
    dims_key,
    dims_of,
    frequent,
    named,
    numbered,
    whole,
)
from bench.recordings.variants.kineto import category
from stepscope.model.kernel_names import classify


def kernel_class(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """The kernels of a class that holds a fair share of the time take 1.5 times as long."""
    by: dict[str, int] = {}
    for one in trace.kernels():
        if trace.inside(one["ts"]):
            name = classify(str(one["name"])).op_class
            by[name] = by.get(name, 0) + one["dur"]
    length = whole(trace)
    fitting: dict[str, int] = {}
    for least in (0.04, LEAST):  # a step that is mostly waiting has no class of more
        fitting = fitting or {
            name: time for name, time in by.items() if least * length < time < 0.5 * length and name != "other"
        }
    if not fitting:
        raise NotThereError
    name = min(fitting, key=lambda one: abs(fitting[one] - 2 * SHARE * length))
    inserts = [
        (one["ts"], one["ts"] + one["dur"], int(size * one["dur"] / 2)) for one in trace.kernels(name) if one["dur"] > 1
    ]
    trace.insert(inserts)
    return Truth(int(size * fitting[name] / 2), len(trace.steps), ("compute",), ((name,),))


def copies(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Copies take longer: of the kind that takes most those beside which nothing runs."""
    found = [one for one in trace.work(lambda one: "memcpy" in category(one)) if trace.inside(one["ts"])]
    found = alone(trace, [one for one in found if one["dur"] > 1])
    if not found:
        raise NotThereError
    kinds = [str(one["name"]) for one in found]
    kind = max(set(kinds), key=lambda name: sum(one["dur"] for one in found if one["name"] == name))
    chosen = [one for one in found if one["name"] == kind]
    factor = size * SHARE * whole(trace) / sum(one["dur"] for one in chosen)
    inserts = [(one["ts"], one["ts"] + one["dur"], int(one["dur"] * factor)) for one in chosen]
    trace.insert(inserts)
    words = (*(word.lower() for word in kind.split(" ")[1:2] or [kind]), "all of it")
    return Truth(sum(one[2] for one in inserts), len(trace.steps), ("exposed_copy",), (words,))


def batch_size(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Twice the batch: kernels take 1.9 times as long at size 1, and the inputs' first dimension doubles."""
    sizes = [dims[0][0] for one in trace.timeline.timed if (dims := dims_of(one)) and _sized(dims)]
    if sizes:
        images = max(set(sizes), key=sizes.count)
        for one in trace.timeline.timed:
            if dims_of(one):
                one["args"][dims_key(one)] = [
                    [2 * images, *dims[1:]] if isinstance(dims, list) and len(dims) > 1 and dims[0] == images else dims
                    for dims in dims_of(one)
                ]
    chosen = [one for one in trace.kernels() if one["dur"] > 1]
    inserts = apart([(one["ts"], one["ts"] + one["dur"], int(0.9 * size * one["dur"])) for one in chosen])
    added = sum(extra for start, _, extra in inserts if trace.inside(start))
    trace.insert(inserts)
    return Truth(added, len(trace.steps), ("compute",), (("all of it × ", "batch"),))


def split(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Kernels of one name run as three, which take 1.5 times as long in all."""
    chosen = frequent(trace)
    launches = trace.launches()
    trace.insert([(one["ts"], one["ts"] + one["dur"], int(size * one["dur"] / 2)) for one in chosen])
    name = str(chosen[0]["name"])
    number = 10**8
    for one in chosen:
        each = one["dur"] // 3
        call = launches.get(correlation(one))
        for part in (1, 2):
            number += 1
            tie = (
                {"correlation": number, "External id": number}
                if "correlation" in one["args"]
                else {"external id": number}
            )
            trace.add(one, _renamed(name, part), one["ts"] + part * each, each - 1, args={**one["args"], **tie})
            if call is not None:
                trace.add(
                    call,
                    str(call["name"]),
                    call["ts"] + part * max(2, call["dur"] // 3),
                    max(1, call["dur"] // 3 - 2),
                    args={**call["args"], **tie},
                )
        one["name"], one["dur"] = _renamed(name, 0), each - 1
        if call is not None:
            call["dur"] = max(1, call["dur"] // 3 - 2)
    added = sum(one["dur"] for one in chosen if trace.inside(one["ts"]))
    return Truth(added, len(trace.steps), ("compute",), (named(name), ("→", "new")))


def fused(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Of the kernels of one name two of three are gone, and with them their time."""
    chosen = frequent(trace)
    share = min(0.9, size * 2 / 3)
    places = zip(numbered(trace, chosen), chosen, strict=True)
    gone = [one for i, one in places if int((i + 1) * share) > int(i * share)]
    length = sum(one["dur"] for one in gone if trace.inside(one["ts"]))
    name = str(chosen[0]["name"])
    trace.insert([(one["ts"], one["ts"] + one["dur"], -(one["dur"] - 1)) for one in gone])
    trace.remove(gone)
    return Truth(-length, len(trace.steps), ("compute",), (named(name), ("→", "gone")))


def collectives(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Collectives beside which nothing runs take twice as long."""
    every = trace.work(lambda one: classify(str(one["name"])).op_class == "collective" and trace.inside(one["ts"]))
    chosen = alone(trace, [one for one in every if one["dur"] > 1])
    if not chosen or sum(one["dur"] for one in chosen) < LEAST * whole(trace):
        raise NotThereError
    grown = {str(one["name"]) for one in chosen}
    before = {name: sum(one["dur"] for one in every if one["name"] == name) for name in grown}
    inserts = apart([(one["ts"], one["ts"] + one["dur"], int(size * one["dur"])) for one in chosen])
    trace.insert(inserts)
    after = {name: sum(one["dur"] for one in every if one["name"] == name) for name in grown}
    # Calls of a name that run beside others stay as they were; noise changes the factor that is said.
    said = [f"× {after[name] / before[name] + off / 100:.2f}" for name in sorted(grown) for off in range(-3, 4)]
    return Truth(
        sum(one[2] for one in inserts), len(trace.steps), ("exposed_communication",),
        (("collective", "nccl", "all of it"), (*said, "→", "all of it")),
    )  # fmt: skip


def one_collective(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """One collective of each step takes longer, by a tenth of the step: the longest beside which nothing runs."""
    every = trace.work(lambda one: classify(str(one["name"])).op_class == "collective")
    exposed = alone(trace, [one for one in every if one["dur"] > 1])
    inserts, name = [], ""
    for start, end in trace.steps:
        mine = [one for one in exposed if start <= one["ts"] < end and name in ("", str(one["name"]))]
        if not mine:
            raise NotThereError
        one = max(mine, key=lambda one: int(one["dur"]))
        name = str(one["name"])
        inserts.append((one["ts"], one["ts"] + one["dur"], int(size * SHARE * (end - start))))
    trace.insert(inserts)
    added = sum(extra for _, _, extra in inserts)
    return Truth(added, len(trace.steps), ("exposed_communication",), ((*named(name), "all of it"),))


def clock(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """All kernels take 1.15 times as long."""
    factor = 0.15 * size
    inserts = apart(
        [(one["ts"], one["ts"] + one["dur"], int(factor * one["dur"])) for one in trace.kernels() if one["dur"] > 1]
    )
    added = sum(extra for start, _, extra in inserts if trace.inside(start))
    trace.insert(inserts)
    # Two per cent of noise in each fiftieth of a step change the factor that is said, of a plant taken away as well.
    factors = (1 + factor, 1 / (1 + factor))
    said = tuple(f"all of it × {one + off / 100:.2f}" for one in factors for off in range(-2, 3))
    return Truth(added, len(trace.steps), ("compute",), (said,))


def fewer(trace: PlantedTrace, size: float = 1.0) -> Truth:
    """Of the kernels of one name half are gone, and each of the others takes three times as long."""
    chosen = frequent(trace)
    places = numbered(trace, chosen)
    gone, left = ([one for i, one in zip(places, chosen, strict=True) if i % 2 == odd] for odd in (1, 0))
    added = sum(int(size * 2 * one["dur"]) for one in left if trace.inside(one["ts"]))
    added -= sum(one["dur"] - 1 for one in gone if trace.inside(one["ts"]))
    name = str(chosen[0]["name"])
    longer = [(one["ts"], one["ts"] + one["dur"], int(size * 2 * one["dur"])) for one in left]
    trace.insert(longer + [(one["ts"], one["ts"] + one["dur"], -(one["dur"] - 1)) for one in gone])
    trace.remove(gone)
    return Truth(added, len(trace.steps), ("compute",), (named(name), ("→",), ("each ×",)))


def _renamed(name: str, part: int) -> str:
    """Another name of the same class: CANN tells it from the end of a name."""
    head, bracket, rest = name.partition("<")
    found = f"{head}_part{part}{bracket}{rest}"
    return found if classify(found).op_class == classify(name).op_class else f"part{part}_{name}"


def _sized(dims: Any) -> bool:
    return isinstance(dims[0], list) and len(dims[0]) == 4 and isinstance(dims[0][0], int)
