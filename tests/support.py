"""What many tests need: small traces in a few lines, and the shared recordings."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from stepscope.ingest import Options, open_trace
from stepscope.ingest.derive import derive
from stepscope.model.recording import Recording
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Trace
from stepscope.store.layout import MANIFEST, VERSION
from stepscope.store.opening import open_stores
from stepscope.store.staging import Staging

#: Environment variable with the folder of the session's stores.
STORES: Final = "STEPSCOPE_TEST_STORES"
_SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces"


def shared_traces() -> Path | None:
    """The folder of real recordings beside the checkout, or None if it is absent."""
    return _SHARED if _SHARED.is_dir() else None


def shared(*parts: str | Path) -> Path:
    """A shared recording; skips the test where the folder is absent."""
    folder = shared_traces()
    if folder is None:
        pytest.skip("the shared recordings are not beside this checkout")
    return folder.joinpath(*parts)


def recorded_trace(*parts: str | Path) -> Trace:
    """A shared recording, open; read once per session and kept in a store that its processes share.

    For tests that change nothing but `SIZES` of how recordings are read; skips the test where the folder is absent.
    """
    return open_trace(shared(*parts), Options(store=Path(os.environ[STORES]) / f"nested-{SIZES.nested_events}"))


class Facts:
    """A small trace, stated fact by fact; times in ns.

    Events get ids 0, 1, ... in the order in which they are stated. `trace()` derives everything else exactly as for
    a recording that was read from a file.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="facts-", ignore_cleanup_errors=True)
        self.staging = Staging(Path(self._folder.name), threads=1)
        self._events: list[dict[str, Any]] = []
        self._kernels: list[dict[str, Any]] = []
        self._args: dict[int, str] = {}
        self._correlation = 0

    def host(
        self,
        category: str,
        name: str,
        ts: int,
        dur: int | None,
        *,
        thread: str = "1",
        correlation: int | None = None,
        external_id: int | None = None,
        args: dict[str, Any] | None = None,
    ) -> int:
        """An event on a host thread; returns its id."""
        track = self.staging.track("host", process="1", thread=thread)
        return self._event(category, name, ts, dur, track, correlation, external_id, args)

    def step(self, number: int, ts: int, dur: int, *, thread: str = "1") -> int:
        """A step recorded by the profiler."""
        return self.host("step", f"ProfilerStep#{number}", ts, dur, thread=thread)

    def kernel(
        self,
        name: str,
        ts: int,
        dur: int | None,
        *,
        launch: tuple[int, int] | int | None = None,
        thread: str = "1",
        device: int | None = 0,
        stream: str = "7",
        kind: str | None = None,
        external_id: int | None = None,
        args: dict[str, Any] | None = None,
        **facts: Any,
    ) -> int:
        """A device activity; returns its id.

        Args:
            launch: (ts, dur) of a launch call to be made on `thread`; or a correlation to share (graphs); or nothing.
            kind: compute, comm, copy, set or sync; None to let the name decide.
            facts: Further columns of `raw_kernels`, such as grid, block or occupancy.
        """
        correlation: int | None = None
        if isinstance(launch, tuple):
            correlation = self.correlation()
            self.host("launch", "cudaLaunchKernel", launch[0], launch[1], thread=thread, correlation=correlation)
        elif launch is not None:
            correlation = launch
        track = self.staging.track("device", device=device, stream=stream)
        category = {"comm": "collective", "copy": "copy", "set": "set", "sync": "sync"}.get(kind or "", "kernel")
        event = self._event(category, name, ts, dur, track, correlation, external_id, args)
        self._kernels.append({"event": event, "kind": kind, **facts})
        return event

    def correlation(self) -> int:
        """A correlation that no event has yet."""
        self._correlation += 1
        return self._correlation

    def row(self, table: str, **values: Any) -> None:
        """A row of a staged table that needs no derivation (copies, collectives, devices, op_inputs, groups, ...)
        or of `raw_memory` or `raw_flows`."""
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" for _ in values)
        self.staging.connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(values.values()))

    def trace(self, **recording: Any) -> Trace:
        """The derived trace, with fields of `Recording` given by keyword."""
        connection = self.staging.connection
        names = self.staging.add_names(list(dict.fromkeys(event["name"] for event in self._events)))
        events = [event | {"name_id": names[event["name"]]} for event in self._events]
        if events:
            self.staging.insert("raw_events", pa.Table.from_pylist(events, schema=_EVENT_SCHEMA))
        if self._kernels:
            columns = sorted({name for kernel in self._kernels for name in kernel})
            rows = [{name: kernel.get(name) for name in columns} for kernel in self._kernels]
            self.staging.insert("raw_kernels", pa.Table.from_pylist(rows))
        if self._args:
            connection.register("stated", pa.table({"id": list(self._args), "args": list(self._args.values())}))
            self.staging.add_args("SELECT id, args FROM stated")
            connection.unregister("stated")
        derive(self.staging)
        self.staging.close()
        known = Recording(**{"source": "facts", "reader": "facts", "events": len(self._events), **recording})
        manifest = {"version": VERSION, "recording": known.to_json(), "files": {}}
        (self.staging.folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        trace = open_stores({known.rank or 0: self.staging.folder})
        weakref.finalize(trace, self._folder.cleanup)
        return trace

    def _event(
        self,
        category: str,
        name: str,
        ts: int,
        dur: int | None,
        track: int,
        correlation: int | None,
        external_id: int | None,
        args: dict[str, Any] | None,
    ) -> int:
        event = len(self._events)
        self._events.append(
            {
                "id": event,
                "ts": ts,
                "dur": dur,
                "track": track,
                "name": name,
                "category": category,
                "correlation": correlation,
                "external_id": external_id,
            }
        )
        if args:
            self._args[event] = json.dumps(args)
        return event


_EVENT_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.int64()),
        ("dur", pa.int64()),
        ("track", pa.int32()),
        ("name_id", pa.int32()),
        ("category", pa.string()),
        ("correlation", pa.int64()),
        ("external_id", pa.int64()),
    ]
)
