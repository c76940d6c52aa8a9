"""A command that prints samples of devices at intervals by itself, which is read in a thread."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

#: By device, what was measured: busy and memory_busy in percent, memory_used and memory_total in bytes, power in W,
#: clock and memory_clock in MHz, temperature in degrees Celsius, throttled as a text; each only where it is known.
DeviceSamples = Mapping[int, Mapping[str, float | str]]
#: The device of a line, and what was measured; None for lines that are no samples.
ParseLine = Callable[[str], tuple[int, Mapping[str, float | str]] | None]


class Stream:
    """Devices as the last lines of a command show them.

    Started once, it costs a fraction of what a new process for each sample would.

    Args:
        name: What the source is called.
        command: The command, which goes on until it is ended.
        parse: Reads a line.

    Raises:
        OSError: It can't be started.
    """

    def __init__(self, name: str, command: Sequence[str], parse: ParseLine) -> None:
        self.name = name
        self._parse = parse
        self._last: dict[int, Mapping[str, float | str]] = {}
        # In a group of its own, so that Ctrl-C is the program's.
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            encoding="utf-8", errors="replace", start_new_session=True,
        )  # fmt: skip
        self._reading = threading.Thread(target=self._read_lines, name=f"stepscope-{name}", daemon=True)
        self._reading.start()

    def read(self) -> dict[int, Mapping[str, float | str]]:
        """The last sample of each device; nothing before the first and after the command has ended."""
        return dict(self._last)

    def close(self) -> None:
        """End the command."""
        self._process.kill()
        self._process.wait()
        self._reading.join()

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                found = self._parse(line)
                if found is not None:
                    self._last[found[0]] = found[1]
        self._last = {}


def number(text: str) -> float | None:
    """A number as such a command prints it; None for `N/A`, `[Not Supported]` and the like."""
    try:
        return float(text)
    except ValueError:
        return None


def known(values: Mapping[str, float | str | None]) -> dict[str, float | str]:
    """Those of the values that are known."""
    return {name: value for name, value in values.items() if value is not None}
