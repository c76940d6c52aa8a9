"""Sample the machine while the job runs, into a file of one line per sample."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import IO, Any, Final

from stepscope.record.folders import REPORTS
from stepscope.record.machine.devices import DeviceSource, open_devices
from stepscope.record.machine.excerpt import keep_latest
from stepscope.record.machine.files import Roots
from stepscope.record.machine.host import Host, usable_cores
from stepscope.record.machine.processes import JobProcesses
from stepscope.record.machine.recorded_now import RecordedRanks
from stepscope.record.machine.storage import Storage

SCHEMA: Final = "stepscope.machine/1"
#: Seconds between samples while no rank is recorded, from ten minutes on, and while one is.
_BETWEEN_S: Final = 1.0
_LATER_S: Final = 5.0
_LATER_FROM_S: Final = 600.0
_RECORDING_S: Final = 0.1
#: A sample may take this share of the time until the next one.
_SHARE: Final = 0.02
#: Seconds between two looks at files mapped into memory.
_MAPPED_S: Final = 10.0
#: A file that reaches this many bytes gets no more lines.
_MOST_BYTES: Final = 64 << 20
#: One of a watched job loses its older half instead, at this many: nine hours of samples of 1 kB every five seconds.
_WATCHED_BYTES: Final = 8 << 20
_VISIBLE: Final = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


class MachineSampler:
    """Samples a job in a thread of the launcher.

    Args:
        folder: The recordings' folder; the file is made when a rank writes its first recording there.
        reports: Folder in which processes of the job report.
        roots: Where the system's files are.
        watched: Folder of a watched job, for which the file is made there at once, and keeps the latest samples.

    Attributes:
        path: The file beside the recordings.
        samples: Samples taken.
        spent_ns: Processor time that they took.
        lived_ns: Time between the start and the last of them.
    """

    def __init__(self, folder: Path, reports: Path, roots: Roots | None = None, watched: Path | None = None) -> None:
        self.samples = 0
        self.spent_ns = 0
        self.lived_ns = 0
        self._roots = roots or Roots()
        self._ranks = RecordedRanks(reports)
        host = socket.gethostname().split(".")[0] or "host"
        self.path = (watched or folder) / f"{host}_{os.getpid()}.machine.jsonl"
        self._watched = watched is not None
        self._most = _WATCHED_BYTES if watched else _MOST_BYTES
        self._temporary = self.path if watched else reports / "machine.jsonl"
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._storages: set[str] = set()
        self._written = 0
        self._file: IO[str] | None = None
        self._moved = False

    def start(self, pid: int) -> None:
        """Start to sample the processes below one."""
        self._thread = threading.Thread(target=self._run, args=(pid,), name="stepscope-machine", daemon=True)
        self._thread.start()

    def stop(self) -> Path | None:
        """End.

        Returns:
            The file beside the recordings; None where nothing was recorded.
        """
        self._over.set()
        if self._thread is not None:
            self._thread.join(5.0)
        return self.path if self.path.exists() else None

    def _run(self, pid: int) -> None:
        self._temporary.parent.mkdir(parents=True, exist_ok=True)
        visible = next((value for name in _VISIBLE if (value := os.environ.get(name))), None)
        devices = open_devices(self._roots, visible)
        try:
            self._file = self._temporary.open("w", encoding="utf-8")
            self._sample(JobProcesses(pid, self._roots), devices)
            if not self._watched:
                self._move(self._file)
        except OSError:
            # The folder is gone or full: what there is stays.
            return
        finally:
            if self._file is not None:
                self._file.close()
            if devices is not None:
                devices.close()

    def _sample(self, job: JobProcesses, devices: DeviceSource | None) -> None:
        host, storage = Host(self._roots), Storage(self._roots)
        self._write({
            "samples": SCHEMA, "host": socket.gethostname(), "cores": usable_cores(), "quota": host.quota(),
            "nodes": host.nodes(), "ticks": os.sysconf("SC_CLK_TCK"), "page": os.sysconf("SC_PAGE_SIZE"),
            "devices": devices.name if devices else None,
        })  # fmt: skip
        began = time.monotonic()
        mapped = began
        while not self._over.is_set() and (self._watched or self._written < self._most):
            before, cpu = time.monotonic(), time.thread_time_ns()
            recording = self._ranks.recording()
            line: dict[str, Any] = {"unix_ns": time.time_ns(), "recording": recording, **host.read()}
            line["job"] = job.read(self._ranks.pids)
            look_mapped = before >= mapped
            mapped = before + _MAPPED_S if look_mapped else mapped
            storage.look(job.pids, look_mapped)
            line["files"] = storage.read()
            line["devices"] = devices.read() if devices else {}
            new = [storage.describe(mount) for mount in line["files"] if mount not in self._storages]
            self._storages.update(one["mount"] for one in new)
            self._write({**line, **({"storage": new} if new else {})})
            self.samples += 1
            self.spent_ns += time.thread_time_ns() - cpu
            self.lived_ns = round(1e9 * (time.monotonic() - began))
            usual = _BETWEEN_S if before - began < _LATER_FROM_S else _LATER_S
            pause = max(_RECORDING_S if recording else usual, (time.monotonic() - before) / _SHARE)
            self._wait(pause)

    def _wait(self, pause: float) -> None:
        """Wait for the next sample, or for a rank that starts to be recorded."""
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0 and not self._over.wait(min(left, _RECORDING_S)):
            if pause > _RECORDING_S and self._ranks.began():
                return

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        text = json.dumps(line, separators=(",", ":")) + "\n"
        self._written += len(text)
        self._file.write(text)
        self._file.flush()
        if not self._watched:
            self._move(self._file)
        elif self._written >= self._most:
            self._file.close()
            self._written = keep_latest(self.path, self._most // 2)
            self._file = self.path.open("a", encoding="utf-8")

    def _move(self, file: IO[str]) -> None:
        """Once a rank writes its first recording, what is there so far, and what comes, lies beside it."""
        if not self._moved and _holds_recordings(self.path.parent):
            file.close()
            self.path.write_bytes(self._temporary.read_bytes())
            self._file, self._moved = self.path.open("a", encoding="utf-8"), True


def _holds_recordings(folder: Path) -> bool:
    """Whether there is a recording, or one that is not yet whole; samples and folders of reports are none."""
    with contextlib.suppress(OSError):
        return any(one.name != REPORTS and one.suffix != ".jsonl" for one in folder.iterdir())
    return False
