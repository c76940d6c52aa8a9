"""What within a part of the step a difference comes from: kernels, copies, collectives, calls of the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.comparison.causes.changed import (
    CALLS,
    LAUNCHES,
    Row,
    RowGroup,
    changed_words,
    common_factor,
    decisive_group,
    grouped,
    names_words,
    short,
)
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.parts.splits import NO_OPERATOR
from stepscope.comparison.steps.words import part_words
from stepscope.language import listing, pattern, said
from stepscope.model.kernel_names import classify
from stepscope.model.table import Table

#: Tables that causes are found in.
CAUSE_TABLES: Final = frozenset({"compute_kernels", "exposed_work", "runtime_calls", "api"})
#: Calls that take device memory from the driver or return it.
_ALLOCATING: Final = ("malloc", "free", "hostalloc", "memcreate", "memmap")
#: Operators that make the host wait for a value.
_READING: Final = ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero")

#: Share of the time that kernels of both sides must have for them to be named, of so many on either side; else classes
#: of kernels are, so many.
_COMMON: Final = 0.1
_SEVERAL: Final = 4
_CLASSES: Final = 3
#: Share by which the host's own time may differ to be as long as before.
_AS_LONG: Final = 0.05
#: What changed by one factor, where it is the whole part.
_EVERY: Final = pattern("all of it × {factor:.2f}")


def inside(part: str, tables: Mapping[str, Table], diff_ns: int) -> str:
    """What of a part differs, in words; empty if nothing stands out.

    Args:
        part: As in `step_parts`.
        tables: The tables of the comparison.
        diff_ns: By how much the part differs per step.
    """
    if part == BUSY[0]:
        return kernels_words(_rows(tables, "compute_kernels"), LAUNCHES)
    if part in BUSY:
        listed = [row for row in _rows(tables, "exposed_work") if row["part"] == part]
        return kernels_words(listed, CALLS)
    if part == "idle.synchronisation":
        return _waits(tables)
    if part == "idle.allocation":
        listed = [
            row for row in _rows(tables, "runtime_calls") if any(one in row["name"].lower() for one in _ALLOCATING)
        ]
        return _largest(listed)
    if part in ("idle.host_dispatch", "host"):
        return _host(tables, part, diff_ns)
    return _detail(tables, part, diff_ns)


def kernels_words(rows: Sequence[Row], calls: str) -> str:
    """What differs among kernels, copies or collectives."""
    if not rows:
        return ""
    factor = common_factor(rows)
    if factor is not None:
        return said(_EVERY, factor=factor)
    if _other_names(rows):
        return _by_class(rows)
    # What no operator launched is no group of its own.
    known = any(_operator(row) != NO_OPERATOR for row in rows)
    found = decisive_group(rows, (_kernel, *(_operator,) * known, _class, lambda _: "all"))
    if found is not None and _replaced(found, rows):
        found = decisive_group(rows, (*(_operator,) * known, _class, lambda _: "all"))
    if found is not None and found.name == NO_OPERATOR:
        found = decisive_group(rows, (_class, lambda _: "all"))
    if found is None or found.name == "all":
        first = grouped(rows, _class)[:2]
        return listing((_words(group, calls) for group in first if group.diff), "; ")
    # A class says more than an operator where all of it changed.
    around = [group for group in grouped(rows, _class) if set(map(_key, found.rows)) <= set(map(_key, group.rows))]
    if around and (common_factor(around[0].rows) is not None or len(around[0].rows) == len(found.rows)):
        return _words(around[0], calls)
    return _words(found, calls)


def group_words(name: str, rows: Sequence[Row], calls: str) -> str:
    """What differs within a group of kernels, copies or collectives that has a name."""
    factor = common_factor(rows)
    if factor is not None:
        return said("{name} × {factor:.2f}", name=short(name), factor=factor)
    words = kernels_words(rows, calls)
    return words if short(name) in words else said("{name}: {change}", name=short(name), change=words)


def _replaced(group: RowGroup, rows: Sequence[Row]) -> bool:
    """Whether a group is on one side alone, and its operators have others of its class on the other side alone."""
    gone, come = group.total("base_count"), group.total("new_count")
    if gone and come:
        return False
    around = {(_operator(row), _class(row)) for row in group.rows}
    there, here = ("new_count", "base_count") if gone else ("base_count", "new_count")
    return any(row[there] and not row[here] for row in rows if (_operator(row), _class(row)) in around)


def _other_names(rows: Sequence[Row]) -> bool:
    """Whether hardly any of the time is in kernels of both sides, as between vendors."""
    both = sides = 0.0
    if min(len({_kernel(row) for row in rows if row[side]}) for side in ("base_ns", "new_ns")) < _SEVERAL:
        return False
    for group in grouped(rows, _kernel):
        base, new = group.total("base_ns"), group.total("new_ns")
        sides += base + new
        both += base + new if base and new else 0
    return both < _COMMON * sides


def _by_class(rows: Sequence[Row]) -> str:
    """Classes of kernels of which no names meet: `hardly any kernel in common: gemm × 3.2, attention × 3.4`."""
    classes: list[str] = []
    for group in grouped(rows, _class)[:_CLASSES]:
        base, new = group.total("base_ns"), group.total("new_ns")
        if base and new:
            classes.append(said("{name} × {factor:.2f}", name=group.name, factor=new / base))
        else:
            classes.append(said("{name} new" if new else "{name} gone", name=group.name))
    return said("hardly any kernel in common: {classes}", classes=listing(classes))


def _words(group: RowGroup, calls: str) -> str:
    label = group.name
    is_class = all(label == _class(row) for row in group.rows)
    where = names_words(group, _operator if any(_operator(row) != NO_OPERATOR for row in group.rows) else _kernel)
    where = "" if where == NO_OPERATOR else where
    words = changed_words(RowGroup(short(label), group.rows), _kernel, calls)
    if is_class and " → " in words and not words.startswith(short(label)):
        return said("{name}: {change}", name=label, change=words)
    if is_class:
        kernels = names_words(group, _kernel)
        where = f"{where}: {kernels}" if where not in ("", kernels) else kernels
    if not where or where == label or where in words:
        return words
    return said("{change} ({where})", change=words, where=where)


def _kernel(row: Row) -> str:
    return classify(row["kernel"]).short


def _operator(row: Row) -> str:
    return str(row["operator"])


def _class(row: Row) -> str:
    return str(row["op_class"])


def _key(row: Row) -> tuple[str, str]:
    return row["operator"], row["kernel"]


def _waits(tables: Mapping[str, Table]) -> str:
    """Which calls wait more often or longer for the device, and within which operator."""
    calls = [row for row in _rows(tables, "runtime_calls") if row["category"] == "sync"]
    words = _largest(calls) or _largest(
        [row for row in _rows(tables, "runtime_calls") if "memcpy" in row["name"].lower()]
    )
    reading = [row for row in _rows(tables, "api") if row["name"] in _READING and row["base_count"] != row["new_count"]]
    return listing(filter(None, (words, _largest(reading))), "; ")


def _largest(rows: Sequence[Row]) -> str:
    """The row that differs most, in its number of calls if that differs, else in its time."""
    groups = grouped(rows, lambda row: str(row["name"]))
    if not groups:
        return ""
    counted = max(groups, key=lambda group: abs(group.total("new_count") - group.total("base_count")))
    if abs(counted.total("new_count") - counted.total("base_count")) >= 0.5:
        return changed_words(counted, lambda row: str(row["name"]))
    return changed_words(groups[0], lambda row: str(row["name"])) if groups[0].diff else ""


def _host(tables: Mapping[str, Table], part: str, diff_ns: int) -> str:
    """What the host does longer: the operator or the call of the runtime whose own time differs most."""
    if shown := _shown(tables, diff_ns):
        return listing(filter(None, (_detail(tables, part, diff_ns), shown)), "; ")
    rows = [
        {**row, "base_ns": row["base_self_ns"], "new_ns": row["new_self_ns"]} for row in _rows(tables, "api")
    ] + _rows(tables, "runtime_calls")
    same = [row for row in rows if (row["new_ns"] - row["base_ns"]) * diff_ns > 0]
    factor = common_factor([row for row in rows if row["base_ns"]])
    words = _detail(tables, part, diff_ns)
    if factor is not None and (factor - 1) * diff_ns > 0:
        return listing(filter(None, (words, said("all of the host's calls × {factor:.2f}", factor=factor))), "; ")
    found = decisive_group(same, (lambda row: str(row["name"]),))
    first = found or next(iter(grouped(same, lambda row: str(row["name"]))), None)
    if first is None or abs(first.diff) < abs(diff_ns) / 4:
        return words
    return listing(filter(None, (words, changed_words(first, lambda row: str(row["name"])))), "; ")


def _shown(tables: Mapping[str, Table], diff_ns: int) -> str:
    """That a host which takes no longer shows more beside a faster device, or less beside a slower one; else empty."""
    of, column = ("api", "self_ns") if _rows(tables, "api") else ("runtime_calls", "ns")
    base, new = (sum(row[f"{side}_{column}"] for row in _rows(tables, of)) for side in ("base", "new"))
    device = sum(row["diff_ns"] for row in _rows(tables, "step_parts") if row["part"] == BUSY[0])
    if not base or device * diff_ns >= 0 or abs(device) < abs(diff_ns) / 2:
        return ""
    # Launches into a full queue wait, so that a host takes longer beside a slower device.
    if diff_ns > 0:
        return said("the host takes no longer, but the device is faster") if new <= (1 + _AS_LONG) * base else ""
    return said("the host takes no less, but the device is slower") if new >= (1 - _AS_LONG) * base else ""


def _detail(tables: Mapping[str, Table], part: str, diff_ns: int) -> str:
    """The details of a cause of idleness that make up most of its difference."""
    rows = [row for row in _rows(tables, "step_parts") if row["part"] == part and row["detail"]]
    ordered = sorted(rows, key=lambda row: -abs(row["diff_ns"]))
    return part_words(ordered[0]["detail"]) if ordered and ordered[0]["diff_ns"] * diff_ns > 0 else ""


def _rows(tables: Mapping[str, Table], name: str) -> list[Row]:
    return tables[name].records() if name in tables else []
