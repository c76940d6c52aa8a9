"""`python -m bench.page [RECORDING]`: how fast the page is on ten million events, of the demo if no recording is given.

The recording is repeated until it has that many. The server runs in a process of its own, whose memory is measured; the
browser is the one that tests use, without a GPU.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench.inputs import OUT
from bench.page import asking, image_times, start
from bench.page.browsing import opened_browser
from bench.page.quantiles import quantiles
from bench.page.repeated import repeat
from stepscope import demo
from stepscope.ingest import Options, open_trace
from stepscope.web.tiles.saved import FOLDER

_DEVICES = "window.stepscopeTimeline && stepscopeTimeline.moved.value > 1 && !stepscopeTimeline.store.hurries"
_READY = "window.stepscopeTimeline && stepscopeTimeline.moved.value > 1 && stepscopeTimeline.store.pending === 0"
#: Moves a window of this share of the recording a little with each image, and says how long images took and what
#: drawing took of it, ms. The whole can't be moved: half of it goes from one end to the middle and back.
_PAN = """
new Promise((done) => {
  const board = stepscopeTimeline, gaps = [], paints = [], [first, end] = board.view.whole();
  board.view.set(first + SHARE * (end - first) / 2, first + 1.5 * SHARE * (end - first));
  let last = performance.now(), way = SHARE < 0.5 ? 0.01 : 0.006;
  const image = (now) => {
    gaps.push(now - last), paints.push(board.stats.paint);
    last = now;
    if (gaps.length >= 150) return done({gaps: gaps.slice(10), paints: paints.slice(10), drawn: board.stats.drawn});
    if (gaps.length === 75) way = -way;
    board.view.pan(way), board.redraw();
    requestAnimationFrame(image);
  };
  requestAnimationFrame(image);
})
"""


def main() -> None:
    """Measure, and print one Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("recording", type=Path, nargs="?", help="default: that of the demo")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--requests", type=int, default=300, help="requests of each kind")
    options = parser.parse_args()
    cache = OUT / f"page-{options.events}"
    with demo.recording() if options.recording is None else nullcontext(options.recording) as recording:
        store, events = _stored(recording, cache, options.events)
        print(f"{events:,} events\n\n| what | first time | from then on |\n|---|---|---|")
        first, then = start.measured(recording, cache, store)
    print(f"| from the start of `stepscope view` to the report | {first:.2f} s | {then:.2f} s |", flush=True)
    found = []
    shutil.rmtree(store / FOLDER, ignore_errors=True)
    for _ in range(2):
        found.append(_measured(store, options.requests))
    for name in found[0]:
        print(f"| {name} | {found[0][name]} | {found[1][name]} |")


def _stored(recording: Path, cache: Path, events: int) -> tuple[Path, int]:
    """A store of so many events under the key of a recording, and how many they are."""
    with open_trace(recording, Options(store=OUT / "page-stores")) as trace:
        [(rank, known)] = list(trace.recordings.items())[:1]
        times = -(-events // known.events)
        store = cache / trace.folders[rank].name
        if not store.exists():
            repeat(trace.folders[rank], store, times)
        return store, known.events * times


def _measured(store: Path, requests: int) -> dict[str, str]:
    server = subprocess.Popen([sys.executable, "-m", "bench.page.serve", str(store)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        found = _in_browser(address)
        for what, took in asking.measured(store, address, requests):
            found[what] = took
        found["memory of the server, of which files mapped into it"] = _memory(server.pid)
        return found
    finally:
        server.kill()
        server.wait()


def _in_browser(address: str) -> dict[str, str]:
    with opened_browser() as running:
        since = time.perf_counter()
        page = running.page(address + "#/timeline", 1280, "light", 800)
        page.eventually(_DEVICES, 600)
        devices: float = page.run("performance.now()")
        page.eventually(_READY, 600)
        first = time.perf_counter() - since
        whole: float = page.run("performance.now()")
        page.eventually("(stepscopeTimeline.redraw(), stepscopeTimeline.view.width > 0)")
        moved: dict[str, Any]
        moved, processor = image_times.measured(running, page, _PAN.replace("SHARE", "0.05"))
        page.eventually(_READY, 600)
        half, of_half = image_times.measured(running, page, _PAN.replace("SHARE", "0.5"))
        heap = page.run("performance.memory.usedJSHeapSize")
    gaps, paints = moved["gaps"], moved["paints"]
    return {
        "until the first view has steps, devices and counters, since the page was asked for": f"{devices / 1000:.2f} s",
        "until it is whole, with time by cause and all threads": f"{whole / 1000:.2f} s",
        "the same with the start of the page in the browser": f"{first:.2f} s",
        "rectangles that an image draws": f"{moved['drawn']:,}",
        "images while a twentieth of the recording moves, median and p95": quantiles(gaps),
        "of which drawing, median and p95": quantiles(paints),
        "processor time of the page's thread for an image, median and p95": quantiles(processor),
        "rectangles of an image of half of the recording": f"{half['drawn']:,}",
        "such images while it moves, median and p95": quantiles(half["gaps"]),
        "of which drawing": quantiles(half["paints"]),
        "processor time of the page's thread for such an image": quantiles(of_half),
        "memory of the page's script": f"{heap / 1e6:.0f} MB",
    }


def _memory(pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in status if line.startswith(("VmRSS", "RssFile"))}
    return f"{int(found['VmRSS']) / 1e3:.0f} MB, {int(found['RssFile']) / 1e3:.0f} MB"


if __name__ == "__main__":
    main()
