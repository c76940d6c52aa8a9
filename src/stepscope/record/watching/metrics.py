"""Metrics of a watched job in the text format of Prometheus.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4). Names follow
https://prometheus.io/docs/practices/naming/: base units, and `_total` behind counters.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.ring.reader import Ring, rings_in
from stepscope.record.signals import start_deaf
from stepscope.record.watching.ended import not_replaced

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: Steps of which quantiles are given.
RECENT: Final = 200
_REQUEST_S: Final = 10.0
_QUANTILES: Final = (0.5, 0.9, 0.99)


def metrics(rings: Iterable[Ring]) -> str:
    """Metrics of the processes of a job, one sample per process and metric."""
    rings = list(rings)
    lines: list[str] = []
    _add(lines, "stepscope_step_duration_seconds", "summary", "Length of the last steps.", _durations(rings))
    _add(lines, "stepscope_data_wait_seconds_total", "counter", "Time in which the loop waited for batches.",
         [("", _labels(ring), ring.wait_ns / 1e9) for ring in rings])  # fmt: skip
    _add(lines, "stepscope_step", "gauge", "Number of the last step.",
         [("", _labels(ring), ring.steps[-1].number) for ring in rings if ring.steps])  # fmt: skip
    _add(lines, "stepscope_device_memory_peak_bytes", "gauge", "Most bytes of tensors on the device so far.",
         [("", _labels(ring), ring.device_bytes) for ring in rings if ring.device_bytes])  # fmt: skip
    _add(lines, "stepscope_process_memory_bytes", "gauge", "Bytes of memory that the process holds.",
         [("", _labels(ring), ring.host_bytes) for ring in rings if ring.host_bytes])  # fmt: skip
    _add(lines, "stepscope_recordings_total", "counter", "Recordings made.",
         [("", _labels(ring), ring.recordings) for ring in rings])  # fmt: skip
    _add(lines, "stepscope_last_write_timestamp_seconds", "gauge", "When the process last told of its steps.",
         [("", _labels(ring), ring.written_unix_ns / 1e9) for ring in rings])  # fmt: skip
    return "".join(lines)


def _durations(rings: list[Ring]) -> Iterator[tuple[str, str, float]]:
    for ring in rings:
        lengths = sorted(step.length_ns for step in ring.steps)
        for one in _QUANTILES if lengths else ():
            place = min(int(one * len(lengths)), len(lengths) - 1)
            yield "", _labels(ring, quantile=str(one)), lengths[place] / 1e9
        yield "_sum", _labels(ring), ring.length_ns / 1e9
        yield "_count", _labels(ring), ring.count


def _add(lines: list[str], name: str, kind: str, told: str, samples: Iterable[tuple[str, str, float]]) -> None:
    found = [f"{name}{suffix}{labels} {value!r}\n" for suffix, labels, value in samples]
    if found:
        lines += [f"# HELP {name} {told}\n", f"# TYPE {name} {kind}\n", *found]


def _labels(ring: Ring, **more: str) -> str:
    values = {"rank": str(ring.rank), "host": str(ring.about.get("host", "")), "pid": str(ring.pid), **more}
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@contextmanager
def serving_metrics(rings: Path, port: int | None) -> Iterator[int]:
    """Answer `GET /metrics` within; gives the port.

    Args:
        rings: Folder of the job's rings.
        port: Where to listen; 0 takes a free one, None does nothing.

    Raises:
        UserError: The port is taken.
    """
    if port is None:
        yield 0
        return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Nothing of who goes away within an answer: standard error is the program's."""

    class Handler(BaseHTTPRequestHandler):
        #: Seconds for a request, so that who sends none holds no thread for long.
        timeout = _REQUEST_S

        def do_GET(self) -> None:
            known = self.path.partition("?")[0] == "/metrics"
            body = metrics(not_replaced(rings_in(rings, RECENT))).encode() if known else b"metrics are at /metrics\n"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: standard error is the program's."""

    try:
        server = Server(("", port), Handler)
    except OSError as error:
        raise UserError(
            said("can't listen on port {port} ({strerror})", port=port, strerror=error.strerror),
            hint="give --prometheus 0",
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="stepscope-metrics", daemon=True)
    start_deaf(thread)
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
