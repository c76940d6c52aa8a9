"""Ask the processes of a job for a recording: a file that each looks at between two steps.

Whoever sees a reason first claims the recording for all ranks, under a lock, so that what all ranks see at once, such
as a slow step of a synchronous job, is recorded once and by all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from stepscope.record.triggers.trigger import Trigger

#: Below the folder of recordings: rings and requests of a watched job. Readers of folders leave hidden ones out.
WATCHED: Final = ".watch"
#: In it: the last request.
ASKED: Final = "asked.json"
#: In a recording's folder: why it was made.
REASON: Final = ".trigger.json"
#: Seconds after which a request is none any more, for processes that have not seen it.
STALE_S: Final = 120.0
#: Recordings by themselves within a pause: on a busy machine the first reason is seldom the one that matters.
_IN_PAUSE: Final = 3
#: A reason that is so many times as far from what is usual as the last one does not wait: noise hides nothing.
_WORSE: Final = 2
#: Seconds in which what one rank saw counts as the same that another one sees.
_SAME_S: Final = 10.0
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """A recording that is asked for.

    Attributes:
        folder: Where to.
        trigger: Why.
        steps: How many steps; 0 for as many as the job was started with.
        options: What to record, by names of `RecordSettings`, where it differs from what the job was started with.
        earlier: When recordings just before it were asked for, unix ns.
    """

    folder: str
    trigger: Trigger
    steps: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    earlier: tuple[int, ...] = ()

    @property
    def age_s(self) -> float:
        """Seconds since it was made."""
        return (time.time_ns() - self.trigger.unix_ns) / 1e9

    def write(self, path: Path) -> None:
        """Put it where processes look, in one step, for this user alone."""
        values = {
            "folder": self.folder, "trigger": self.trigger.values(), "steps": self.steps, "options": self.options,
            "earlier": self.earlier,
        }  # fmt: skip
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(values), encoding="utf-8")
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path) -> RecordingRequest | None:
        """What is asked for; None where nothing can be read."""
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            values = json.loads(path.read_text(encoding="utf-8"))
            folder, steps, options = values.get("folder"), values.get("steps", 0), values.get("options", {})
            if isinstance(folder, str) and isinstance(steps, int) and isinstance(options, dict):
                earlier = tuple(at for at in values.get("earlier", ()) if isinstance(at, int))
                return cls(folder, Trigger.of_values(values.get("trigger")), steps, options, earlier)
        return None

    @classmethod
    def read_within(cls, output: Path) -> RecordingRequest | None:
        """What all ranks are asked for, into a folder of the job's, whoever else may write there."""
        asked = cls.read(shared_request(output))
        name = Path(asked.folder).name if asked is not None else ""
        return replace(asked, folder=str(output / name)) if asked is not None and name not in ("", "..") else None


def shared_request(output: Path) -> Path:
    """The file that asks all ranks of a job."""
    return output / WATCHED / ASKED


def claim(output: Path, trigger: Trigger, cooldown_s: float, done: str) -> RecordingRequest | None:
    """Have all ranks record for a reason, or take part in what another one asked for just before.

    Args:
        output: The folder of the recordings.
        trigger: The reason.
        cooldown_s: Seconds within which no more than three are recorded, but what somebody asks for or is far worse.
        done: The folder of what this process recorded last, in which it does not take part again.

    Returns:
        What to record; None within the pause.

    Raises:
        OSError: The folder can't be written.
    """
    path = shared_request(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / "lock"):
        last = RecordingRequest.read_within(output)
        if last is not None and 0 <= last.age_s < _SAME_S and last.folder != done:
            return last
        recent = _within(last, cooldown_s)
        if last is not None and trigger.is_automatic and len(recent) >= _IN_PAUSE and not _is_worse(trigger, last):
            return None
        request = RecordingRequest(str(_new_folder(output, trigger)), trigger, earlier=recent[-_IN_PAUSE:])
        request.write(path)
    return request


def _within(last: RecordingRequest | None, seconds: float) -> tuple[int, ...]:
    """When the last recordings were asked for, of those at most so long ago; unix ns."""
    now = time.time_ns()
    known = (*last.earlier, last.trigger.unix_ns) if last is not None else ()
    return tuple(at for at in known if 0 <= now - at < seconds * 1e9)


def _is_worse(trigger: Trigger, last: RecordingRequest) -> bool:
    """Whether it is far worse than a reason of the same kind."""
    before = last.trigger
    return trigger.what == before.what and trigger.value - trigger.usual > _WORSE * (before.value - before.usual)


def _new_folder(output: Path, trigger: Trigger) -> Path:
    """A folder of its own, whose name sorts by time."""
    at = time.strftime("%Y%m%d-%H%M%S", time.gmtime(trigger.unix_ns / 1e9))
    step = f"-step-{trigger.step}" if trigger.step >= 0 else ""
    name = f"{at}-{trigger.what.replace(' ', '-')}{step}"
    for number in range(1, 1000):
        folder = output / (name if number == 1 else f"{name}-{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            (folder / REASON).write_text(json.dumps(trigger.values()), encoding="utf-8")
            return folder
    raise FileExistsError(name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Within, no other process of the job claims; where locks do not work, or are held for long, it goes without."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a") as file:
        for _ in range(_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                break
        yield
