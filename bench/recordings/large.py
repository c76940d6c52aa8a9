"""`python -m bench.recordings.large`: every labelled recording repeated to two million events; nothing may fail."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench.recordings.__main__ import LABELLED
from bench.recordings.answer import answer
from bench.recordings.label import labels
from bench.repeat import repeat
from bench.repeat_binary import repeat_export, repeat_snapshot


def main() -> None:
    """Repeat, analyse and say what failed; exit with 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m bench.recordings.large", description=__doc__)
    parser.add_argument("--labels", type=Path, default=LABELLED, help="folder with labels-*.json and the recordings")
    parser.add_argument("--only", default="", help="only recordings whose path contains this")
    parser.add_argument("--events", type=int, default=2_000_000)
    options = parser.parse_args()
    failed = False
    for label in labels(options.labels):
        if options.only not in label.path:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, start = options.labels / label.path, time.perf_counter()
            target = Path(folder) / source.name.removesuffix(".gz")
            times = _repeated(source, target, options.events)
            if times is None:
                print(f"{label.path}: a folder, not repeated", flush=True)
                continue
            made = time.perf_counter()
            found = answer(target, Path(folder) / "store")
            failed |= bool(found.failed)
            what = ", ".join(found.failed) or "nothing"
            print(
                f"{label.path}: {times} times, made in {made - start:.0f} s, analysed in "
                f"{time.perf_counter() - made:.0f} s: {what} failed; first finding {found.family}",
                flush=True,
            )
    if failed:
        raise SystemExit(1)


def _repeated(source: Path, target: Path, events: int) -> int | None:
    """Write the repeated recording; None for a folder or a table."""
    if source.is_dir() or source.suffix == ".csv":
        return None
    if source.suffix == ".sqlite":
        return repeat_export(source, target, events)
    with source.open("rb") as file:
        if file.read(1) == b"\x80":
            return repeat_snapshot(source, target, events)
    return repeat(source, target, 0, events)


if __name__ == "__main__":
    main()
