"""How long `stepscope view` takes from its start to the report, on a recording that was read before."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from stepscope.web.kept_report import FOLDER

#: How long the report may take to be kept, s.
_PATIENCE_S: Final = 120.0


def measured(recording: Path, cache: Path, store: Path) -> tuple[float, float]:
    """Seconds to the report without a kept one, and with the one that the first time has kept."""
    shutil.rmtree(store / FOLDER, ignore_errors=True)
    return _once(recording, cache, store), _once(recording, cache, store)


def _once(recording: Path, cache: Path, store: Path) -> float:
    since = time.perf_counter()
    command = [sys.executable, "-m", "stepscope", "view", str(recording), "--no-browser", "--store", str(cache)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip().replace("?", "api/report?")
        while True:
            with urlopen(address) as answer:
                answer.read()
                if answer.status == 200:
                    break
        took = time.perf_counter() - since
        until = time.monotonic() + _PATIENCE_S
        while not any((store / FOLDER).glob("[!t]*")):
            assert time.monotonic() < until, "the report was not kept"
            time.sleep(0.02)
        return took
    finally:
        server.kill()
        server.wait()
