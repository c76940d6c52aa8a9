"""The options of both profilers that are called experimental, in one place."""

from __future__ import annotations

import inspect
from enum import Enum
from typing import Any, Final

from stepscope.record.api.backend import Backend, say
from stepscope.record.api.options import AiCMetrics, ExportType, HostSystem, ProfilerLevel
from stepscope.record.api.parity import EXPERIMENTAL

_MISSING: Final = object()
#: Two names of one option, of newer and older versions of torch_npu.
_RENAMED: Final = {"mstx": "msprof_tx", "msprof_tx": "mstx"}


class ExperimentalConfig:
    """Options by keyword, of torch.profiler's and torch_npu's `_ExperimentalConfig`; each takes those that it knows.

    Args:
        options: As in the table of `docs/profiler-api.md`; `profiler_level`, `aic_metrics`, `export_type` and
            `host_sys` by name.

    Raises:
        TypeError: Neither profiler has an option of that name.
    """

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in EXPERIMENTAL:
                raise TypeError(f"neither torch.profiler nor torch_npu.profiler has an experimental option {name!r}")
        self.options = options

    def native(self, backend: Backend) -> Any:
        """The profiler's own object; says which options it does not have."""
        known = {}
        for name, value in self.options.items():
            if backend.kind in EXPERIMENTAL[name]:
                known[name] = _native(value, backend)
            else:
                say(f"experimental_config: {name} has no effect with {backend.module.__name__}")
        self._conflicts()
        if backend.kind == "npu":
            return backend.module._ExperimentalConfig(**_there(known, backend))
        from torch._C import _profiler

        return _profiler._ExperimentalConfig(**known)

    def _conflicts(self) -> None:
        level = self.options.get("profiler_level", ProfilerLevel.Level0)
        metrics = self.options.get("aic_metrics", AiCMetrics.AiCoreNone)
        if _name(level) in ("Level0", "Level_none") and _name(metrics) != "AiCoreNone":
            say(f"experimental_config: aic_metrics needs profiler_level Level1 or Level2, and {_name(level)} has none")
        exports = self.options.get("export_type", ExportType.Text)
        listed = exports if isinstance(exports, (list, tuple)) else [exports]
        if self.options.get("op_attr") and "Db" not in map(_name, listed):
            say("experimental_config: op_attr needs export_type Db")
        domains = [name for name in ("mstx_domain_include", "mstx_domain_exclude") if self.options.get(name)]
        if domains and not (self.options.get("mstx") or self.options.get("msprof_tx")):
            say(f"experimental_config: {domains[0]} needs mstx=True")
        elif len(domains) > 1:
            say("experimental_config: mstx_domain_exclude has no effect beside mstx_domain_include")


def _there(options: dict[str, Any], backend: Backend) -> dict[str, Any]:
    """The options that the installed torch_npu has; says which it lacks."""
    parameters = inspect.signature(backend.module._ExperimentalConfig).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return options
    found = {}
    for name, value in options.items():
        there = name if name in parameters else _RENAMED.get(name, name)
        if there in parameters:
            found[there] = value
        else:
            say(f"experimental_config: {name} has no effect with this torch_npu, which does not have it")
    return found


def _name(value: Any) -> str:
    return value.name if isinstance(value, Enum) else str(value)


def _native(value: Any, backend: Backend) -> Any:
    """A value as the profiler has it."""
    if isinstance(value, (list, tuple)):
        return [_native(one, backend) for one in value]
    if isinstance(value, (ProfilerLevel, AiCMetrics, ExportType, HostSystem)):
        found = getattr(getattr(backend.module, type(value).__name__), value.name, _MISSING)
        if found is _MISSING:
            raise ValueError(f"this torch_npu has no {type(value).__name__}.{value.name}")
        return found
    return value
