"""The capture range of whatever profiler the process runs under, which reads it from a file."""

import os
from pathlib import Path


def _say(word):
    if path := os.environ.get("FAKE_NSYS_RANGE"):
        from . import nvtx

        with Path(path).open("a") as file:
            file.write(f"{word} {nvtx.calls}\n")


def start():
    _say("start")


def stop():
    _say("stop")
