"""Memory snapshots, to be changed in place."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from bench.recordings.variants.recording import NotApplicableError, Warp, Window


class SnapshotRecording:
    """A snapshot, pickled or as JSON; one's own or a trusted one, since it is unpickled."""

    def __init__(self, source: Path) -> None:
        """Read a snapshot."""
        with source.open("rb") as file:
            self.pickled = file.read(1) == b"\x80"
            file.seek(0)
            self.content: dict[str, Any] = pickle.load(file) if self.pickled else json.load(file)
        self.histories: list[list[dict[str, Any]]] = self.content.get("device_traces") or []

    def window(self) -> Window:
        """From the first entry to the last."""
        times = [entry["time_us"] * 1000 for history in self.histories for entry in history if "time_us" in entry]
        if not times:
            raise NotApplicableError
        return min(times), max(times)

    def steps(self) -> list[Window]:
        """None: snapshots mark no steps that all of them have."""
        return []

    def warp(self, host: Warp, device: Warp) -> None:
        """Move entries; they are the host's."""
        del device
        self.window()
        for history in self.histories:
            for entry in history:
                if "time_us" in entry:
                    entry["time_us"] = host(entry["time_us"] * 1000) // 1000

    def cut(self, start: int, end: int) -> None:
        """Forget the entries before start, as a full ring does; the end belongs to the state and can't be cut."""
        if end < self.window()[1]:
            raise NotApplicableError
        for history in self.histories:
            history[:] = [entry for entry in history if entry.get("time_us", start) * 1000 >= start]

    def repeat(self, times: int) -> None:
        """Not done: a program that does all again starts with what it had at the end."""
        del times
        raise NotApplicableError

    def save(self, folder: Path) -> Path:
        """Write it as it was written."""
        path = folder / ("snapshot.pickle" if self.pickled else "snapshot.json")
        if self.pickled:
            path.write_bytes(pickle.dumps(self.content))
        else:
            path.write_text(json.dumps(self.content), encoding="utf-8")
        return path

    def close(self) -> None:
        """Nothing is open."""
