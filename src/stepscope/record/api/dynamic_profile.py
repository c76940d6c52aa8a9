"""Recording on request from a file, as torch_npu.profiler.dynamic_profile does it: on NPUs by that, else by torch."""

from __future__ import annotations

import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from stepscope.record.api.backend import Backend, say
from stepscope.record.api.config import ExperimentalConfig
from stepscope.record.api.handlers import tensorboard_trace_handler
from stepscope.record.api.options import ProfilerActivity
from stepscope.record.api.parity import EXPERIMENTAL
from stepscope.record.api.profile import profile
from stepscope.record.api.schedules import schedule
from stepscope.record.job.identity import JobProcess

_CONFIG: Final = "profiler_config.json"
#: Seconds between two looks at the file, as torch_npu's monitor has them.
_LOOK_S: Final = 2.0
#: The file that `init` writes where there is none; keys as in torch_npu's.
_TEMPLATE: Final[dict[str, Any]] = {
    "activities": ["CPU", "NPU"], "prof_dir": "./", "analyse": False, "record_shapes": False, "profile_memory": False,
    "with_stack": False, "with_flops": False, "with_modules": False, "active": 1, "warmup": 1, "start_step": 0,
    "is_rank": False, "rank_list": [], "experimental_config": {}, "metadata": {},
}  # fmt: skip
_SWITCHES: Final = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")


class DynamicProfile:
    """Records as many steps as its file says whenever that has changed.

    Args:
        folder: Where the file lies; it is written if there is none.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / _CONFIG
        if not self._file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(_TEMPLATE, indent=4), encoding="utf-8")
        self._seen = self._changed()
        self._looked = time.monotonic()
        self._step = self._left = 0
        self._asked: dict[str, Any] | None = None
        self._profiler: profile | None = None

    def step(self) -> None:
        """A step is over."""
        self._step += 1
        if self._profiler is not None:
            self._profiler.step()
            self._left -= 1
            if not self._left:
                self._profiler.stop()
                self._profiler = None
            return
        if time.monotonic() - self._looked >= _LOOK_S:
            self._looked = time.monotonic()
            changed = self._changed()
            if changed not in (0, self._seen):
                self._seen, self._asked = changed, self._read(self._file)
        if self._asked is not None and self._step >= _number(self._asked, "start_step", 0):
            asked, self._asked = self._asked, None
            self._record(asked)

    def start(self, config_path: str | None = None) -> None:
        """Record from here on, as this file says, or that of `init`."""
        if self._profiler is not None:
            say("dynamic_profile.start does nothing: it records already")
        elif (asked := self._read(Path(config_path) if config_path else self._file)) is not None:
            self._record(asked)

    def _changed(self) -> int:
        try:
            return self._file.stat().st_mtime_ns
        except OSError:
            return 0

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            asked = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            say(f"dynamic_profile: {path} can't be read ({error})")
            return None
        if not isinstance(asked, dict):
            say(f"dynamic_profile: {path} holds no JSON object")
            return None
        return asked

    def _record(self, asked: dict[str, Any]) -> None:
        ranks = asked.get("rank_list")
        if asked.get("is_rank") is True and isinstance(ranks, list) and JobProcess.current().rank not in ranks:
            return
        active, warmup = _number(asked, "active", 1), _number(asked, "warmup", 0)
        config = asked.get("experimental_config")
        known = {
            name: value
            for name, value in (config.items() if isinstance(config, dict) else ())
            if "torch" in EXPERIMENTAL.get(name, ())
        }
        steps = schedule(wait=0, warmup=warmup, active=max(active, 1), repeat=1)
        try:
            recording = profile(
                activities=_activities(asked.get("activities")),
                # Not as a schedule, of which is said what had better be set: these steps were asked for.
                schedule=steps.__call__,
                on_trace_ready=tensorboard_trace_handler(str(asked.get("prof_dir") or self._file.parent)),
                experimental_config=ExperimentalConfig(**known) if known else None,
                **{name: asked.get(name) is True for name in _SWITCHES},
            )
            recording.start()
        except Exception as error:  # the program goes on whatever a file asks for
            say(f"dynamic_profile: nothing is recorded ({error})")
            return
        metadata = asked.get("metadata")
        for name, value in metadata.items() if isinstance(metadata, dict) else ():
            recording.add_metadata_json(name, json.dumps(value))
        self._profiler, self._left = recording, warmup + max(active, 1)


def _number(asked: dict[str, Any], name: str, default: int) -> int:
    value = asked.get(name, default)
    return value if isinstance(value, int) and value >= 0 else default


def _activities(asked: Any) -> list[ProfilerActivity] | None:
    """What is asked for; any accelerator means those that are there."""
    names = {str(one).upper() for one in asked} if isinstance(asked, list) else set()
    known = names & {one.name for one in ProfilerActivity}
    supported = sorted(Backend.installed().supported(), key=lambda one: one.name)
    return [one for one in supported if (one.name in known if one.name == "CPU" else known - {"CPU"})] or None


#: What `init` set up: an own one, or torch_npu's.
_state: dict[str, Any] = {}


def init(path: str) -> None:
    """Look for requests in `profiler_config.json` in this folder; a template is written if there is no such file."""
    if _state:
        say("dynamic_profile.init does nothing: it was called before")
    elif Backend.installed().kind == "npu":
        _state["at"] = native = import_module("torch_npu.profiler.dynamic_profile")
        native.init(path)
    else:
        _state["at"] = DynamicProfile(Path(path))


def step() -> None:
    """A step is over; a file that has changed since is looked at, and what it asks for starts here."""
    if _state:
        _state["at"].step()
    else:
        say("dynamic_profile.step does nothing before dynamic_profile.init")


def start(config_path: str | None = None) -> None:
    """Record from here to the next calls of `step`, as this file says; that of `init` if none is given."""
    if _state:
        _state["at"].start(config_path)
    else:
        say("dynamic_profile.start does nothing before dynamic_profile.init")
