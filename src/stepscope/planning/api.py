"""`stepscope.plan`: plans in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.planning.family.reading import read_model
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Layout
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.spelling import platform
from stepscope.planning.planned import Planned
from stepscope.planning.planner import answer
from stepscope.planning.request import request


def plan(
    model: str | Path | Mapping[str, Any] | ModelShape,
    *,
    devices: int,
    device: str | Platform,
    top: int = 5,
    machine: Mapping[str, float | None] | None = None,
    shape: Mapping[str, bool | None] | None = None,
    **choices: Any,
) -> Planned:
    """Lay out the training of a model over devices.

    Args:
        model: A config.json, its folder, a JSON of one's own, a preset's name, or what such a file says.
        devices: Number of devices.
        device: Their kind, as people write it, or a platform.
        top: Plans to give at most.
        machine: What differs from the usual machine: `per_server`, `link` and `network` (GB/s), `memory` (GiB).
        shape: What the model's file does not say: `tied`, `gated`, `dropout`.
        choices: Fields of a layout that are fixed (`tp`, `pp`, `micro_batch`, `recompute`, ...); None leaves one open.

    Returns:
        Plans, best first, with what neighbouring choices would bring; with groups and micro-batch fixed, that one.

    Raises:
        UserError: The model, the device or a choice is not known, or the choices contradict each other.
    """
    refuse_unknown(choices)
    if top < 1:
        raise UserError(said("top is {top}", top=top), hint="give a number of plans, at least 1")
    known = read_model(model)
    for name, value in (shape or {}).items():
        if value is not None:
            known = replace(known, **{name: value})  # type: ignore[arg-type]
    where = _machine(platform(device) if isinstance(device, str) else device, machine or {})
    return answer(request(known, where, devices, choices), top)


def refuse_unknown(choices: Mapping[str, Any]) -> None:
    """Refuse choices that are no fields of a layout.

    Raises:
        UserError: One is none, with the name that was probably meant.
    """
    unknown = [name for name in choices if name not in Layout.__slots__]
    if unknown:
        raise UserError(
            said("a layout has no {unknown!r}", unknown=unknown[0]), hint=choose(unknown[0], Layout.__slots__)
        )


def _machine(one: Platform, differs: Mapping[str, Any]) -> Platform:
    """The platform with what differs.

    Raises:
        UserError: A figure is not positive, or no number.
    """
    given = {name: value for name, value in differs.items() if value is not None}
    for name, value in given.items():
        if name not in _MACHINE:
            raise UserError(said("a machine has no {name!r}", name=name), hint=choose(name, _MACHINE))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not _MACHINE[name] <= value <= _MOST:
            raise UserError(
                said("{name} is {value!r}", name=name.replace("_", " "), value=value),
                hint=said("give a number of {machine:g} or more", machine=_MACHINE[name]),
            )
    if (devices := given.get("per_server")) is not None:
        one = replace(one, per_server=int(devices))
    if (rate := given.get("link")) is not None:
        one = replace(one, link=rate * 1e9)
    if (rate := given.get("network")) is not None:
        one = replace(one, network=rate * 1e9)
    if (size := given.get("memory")) is not None:
        one = replace(one, memory_bytes=round(size * 2**30))
    return one


#: What may differ of a machine, and the least that it may be.
_MACHINE: Final = {"per_server": 1.0, "link": 1e-3, "network": 1e-3, "memory": 1e-3}
_MOST: Final = 1e9
