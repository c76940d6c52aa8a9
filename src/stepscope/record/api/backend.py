"""The profiler that is installed: torch_npu's where there is an NPU, torch's elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.api.options import ProfilerAction, ProfilerActivity


class RecordingWarning(UserWarning):
    """What is said before a recording starts: an option that has no effect here, or costs much."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A profiler.

    Attributes:
        kind: `torch` or `npu`.
        module: `torch.profiler` or `torch_npu.profiler`.
    """

    kind: Literal["torch", "npu"]
    module: Any

    @classmethod
    def installed(cls) -> Backend:
        """The one for this machine's devices.

        Raises:
            UserError: PyTorch is not installed.
        """
        if find_spec("torch") is None:
            raise UserError("torch is not installed, whose profiler records", hint="install PyTorch in this Python")
        if find_spec("torch_npu") is not None and import_module("torch_npu").npu.is_available():
            return cls("npu", import_module("torch_npu.profiler"))
        return cls("torch", import_module("torch.profiler"))

    def activities(self, given: Iterable[Any] | None) -> list[Any] | None:
        """Activities as this profiler has them; those of accelerators that are not there become those that are."""
        if given is None:
            return None
        native = self.module.ProfilerActivity
        found: list[Any] = []
        for one in given:
            if isinstance(one, dict):
                if self.kind == "npu":
                    say("activities: torch_npu records all of an activity; the names of its parts are left out")
                    found += self.activities(one) or []
                else:
                    found.append({self._activity(key, native): names for key, names in one.items()})
            else:
                found.append(self._activity(one, native))
        return [one for at, one in enumerate(found) if isinstance(one, dict) or one not in found[:at]]

    def _activity(self, one: Any, native: Any) -> Any:
        name = getattr(one, "name", str(one))
        if name == "NPU" and self.kind == "torch":
            name = "CUDA"
        elif name != "CPU" and self.kind == "npu":
            name = "NPU"
        if not hasattr(native, name):
            raise UserError(
                said("activities: this PyTorch has no {name}", name=name),
                hint="see stepscope.profiler.supported_activities()",
            )
        return getattr(native, name)

    def supported(self) -> set[ProfilerActivity]:
        """The activities that can be recorded here."""
        names = {one.name for one in self.module.supported_activities()}
        return {one for one in ProfilerActivity if one.name in names}

    def actions(self, schedule: Callable[[int], Any]) -> Callable[[int], Any]:
        """A schedule whose actions are this profiler's."""
        native = self.module.ProfilerAction

        def action(step: int) -> Any:
            chosen = schedule(step)
            return getattr(native, chosen.name) if isinstance(chosen, (ProfilerAction, Enum)) else chosen

        return action


def say(sentence: str) -> None:
    """Say what a script should know, once per place in it; in English, by which filters of warnings know it."""
    warnings.warn(f"stepscope: {sentence}.", RecordingWarning, stacklevel=4)
