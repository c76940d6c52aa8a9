"""Flood the page's server with bodies, strings, queries and clients; the second table of docs/reliability.md.

`python -m bench.damage.floods [RECORDING] [--write]`; the demo's recording if none is given.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Final
from urllib.parse import urlsplit

from stepscope import demo

_DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
_START, _END = "<!-- floods -->", "<!-- end of floods -->"
_BODY_BYTES: Final = 300_000_000
_CLIENTS: Final = 500
#: An answer that takes longer is none, s.
_PATIENCE_S: Final = 180.0


@dataclass(frozen=True, slots=True)
class Server:
    """The process of `stepscope view`, and where it answers.

    Attributes:
        process: The process.
        host: Host and port.
        token: What it asks of a client.
    """

    process: subprocess.Popen[str]
    host: str
    token: str

    def peak_mib(self) -> int:
        """The most memory that it has had, MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) >> 10

    def ask(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None) -> str:
        """What a request is answered with: the status, or how the connection ended."""
        connection = http.client.HTTPConnection(self.host, timeout=_PATIENCE_S)
        try:
            joined = "&" if "?" in path else "?"
            # A server may answer and close before all of the body was sent.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(
                    method, f"{path}{joined}token={self.token}", body, {"Content-Type": "application/json"}
                )
            answer = connection.getresponse()
            answer.read()
            return str(answer.status)
        except TimeoutError:
            return "no answer"
        except (OSError, http.client.HTTPException):
            return "closed"
        finally:
            connection.close()

    def query(self, sql: str) -> str:
        """What a question in SQL is answered with."""
        return self.ask("POST", "/api/query", json.dumps({"sql": sql}).encode())


def _chunks() -> Iterator[bytes]:
    chunk = b"0" * 1_000_000
    yield from (chunk for _ in range(_BODY_BYTES // len(chunk)))


def _clients(server: Server, ask: Callable[[Server], str]) -> Counter[str]:
    with ThreadPoolExecutor(_CLIENTS) as clients:
        return Counter(clients.map(lambda _: ask(server), range(_CLIENTS)))


def _silent(server: Server) -> Counter[str]:
    """Clients that send half a request and nothing more, and one beside them that asks properly."""
    name, _, port = server.host.rpartition(":")
    held = [socket.create_connection((name, int(port)), timeout=_PATIENCE_S) for _ in range(_CLIENTS)]
    try:
        for one in held:
            one.sendall(b"POST /api/query HTTP/1.1\r\nHost: ")
        return Counter([server.ask("GET", "/api/report")])
    finally:
        for one in held:
            one.close()


FLOODS: Final[tuple[tuple[str, Callable[[Server], Counter[str]]], ...]] = (
    ("a body of 300 MB, in chunks", lambda s: Counter([s.ask("POST", "/api/query", _chunks())])),
    ("a body of 300 MB, its length said before", lambda s: Counter([s.ask("POST", "/api/query", b"0" * _BODY_BYTES)])),
    ("a body that is no JSON", lambda s: Counter([s.ask("POST", "/api/query", b'{"sql": ')])),
    ("JSON of 100,000 nested lists", lambda s: Counter([s.ask("POST", "/api/query", b"[" * 100_000)])),
    ("an address of 1 MB", lambda s: Counter([s.ask("GET", "/api/tables/" + "x" * 1_000_000)])),
    ("SQL for one string of 1 GB", lambda s: Counter([s.query("SELECT repeat('x', 1000000000)")])),
    (
        "SQL for strings that add up to 1 GB",
        lambda s: Counter([s.query("SELECT string_agg(repeat('x', 100000), '') FROM range(10000)")]),
    ),
    ("SQL for 10 billion rows", lambda s: Counter([s.query("SELECT a.range FROM range(100000) a, range(100000) b")])),
    ("500 clients that ask for the report", lambda s: _clients(s, lambda one: one.ask("GET", "/api/report"))),
    (
        "500 clients that ask in SQL",
        lambda s: _clients(s, lambda one: one.query("SELECT name, count(*) FROM events GROUP BY name")),
    ),
    (
        "500 clients that ask for one string of 1 GB",
        lambda s: _clients(s, lambda one: one.query("SELECT repeat('x', 1000000000)")),
    ),
    ("500 clients that send half a request, and one beside them", _silent),
)


def main() -> None:
    """Flood a server in all ways, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench.damage.floods", description=__doc__)
    parser.add_argument("recording", type=Path, nargs="?")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    options = parser.parse_args()
    with (
        demo.recording() if options.recording is None else nullcontext(options.recording) as recording,
        tempfile.TemporaryDirectory(prefix="bench-floods-") as folder,
    ):
        table = "\n".join(_rows(recording, Path(folder)))
    print(table)
    if options.write:
        text = _DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(_START)
        _DOCUMENT.write_text(f"{before}{_START}\n{table}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")


def _rows(recording: Path, store: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "stepscope", "view", str(recording), "--no-browser", "--store", str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        server = Server(process, address.netloc, address.query.partition("=")[2])
        while server.ask("GET", "/api/report") == "202":
            sleep(0.2)
        yield "| what comes | answers | after | a report then | most memory so far |"
        yield "|---|---|---|---|---|"
        yield f"| nothing | | | {_report(server)} | {server.peak_mib()} MiB |"
        for what, flood in FLOODS:
            since = perf_counter()
            answers = flood(server)
            took = perf_counter() - since
            told = ", ".join(f"{count} × {answer}" if count > 1 else answer for answer, count in answers.most_common())
            yield f"| {what} | {told} | {took:.1f} s | {_report(server)} | {server.peak_mib()} MiB |"
    finally:
        process.kill()
        process.wait()


def _report(server: Server) -> str:
    since = perf_counter()
    status = server.ask("GET", "/api/report")
    return f"{perf_counter() - since:.2f} s" if status == "200" else status


if __name__ == "__main__":
    main()
