"""A headless browser for tests, spoken to over a pipe (Chrome DevTools Protocol): no package, no port, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS: Final = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
#: The browser reads commands from descriptor 3 and answers on 4.
_PLUG: Final = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_PATIENCE_S: Final = 60.0


def found() -> str | None:
    """Path of a browser, or None: `BROWSER_FOR_TESTS` if it is set, else what is installed under a usual name."""
    return os.environ.get("BROWSER_FOR_TESTS") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def opened(program: str, profile: Path) -> Iterator[Browser]:
    """A running browser with a profile of its own in an empty folder; it is ended on leaving."""
    to_child, to_browser = os.pipe()
    from_browser, from_child = os.pipe()

    process = subprocess.Popen(
        [sys.executable, "-c", _PLUG, str(to_child), str(from_child), program, *_FLAGS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_child, from_child),
    )
    os.close(to_child)
    os.close(from_child)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        process.kill()
        process.wait()


class NavigatedError(AssertionError):
    """The page went elsewhere before it answered."""


class Browser:
    """Sends commands and waits for their answers; keeps the events that come in between."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The result of a command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise NavigatedError(method)
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str, session: str | None = None) -> None:
        """Wait for an event that has not been seen yet: of a page, or of the browser."""
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            self.events.append(self._next())

    def page(self, address: Path | str, width: int, scheme: str = "light", height: int = 900) -> Page:
        """A page that has loaded a file or an address, in a window of so many CSS pixels."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        page.send("Page.navigate", url=address if isinstance(address, str) else address.as_uri())
        self.wait_for("Page.loadEventFired", session)
        return page

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the browser said nothing for {_PATIENCE_S:.0f} s"
            received = os.read(self._read, 1 << 20)
            assert received, "the browser ended"
            self._rest += received
        message, _, self._rest = self._rest.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


class Page:
    """One page of a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command to this page."""
        return self._browser.send(method, self._session, **params)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key: `Tab`, `Enter`, `ArrowRight`, or a character."""
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39}
        params = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": 8 * shift}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.send("Input.dispatchKeyEvent", type="keyDown", **params, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **params)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except NavigatedError:
            return False

    def eventually(self, condition: str, seconds: float = 10.0) -> None:
        """Wait until a JavaScript expression is true, on the page that a link leads to as well."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.02)  # a page that is asked without a pause does not get to draw

    def requested(self) -> list[str]:
        """Addresses that the page has asked for."""
        self.run("0")  # what the browser said before is read by now
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent" and event.get("sessionId") == self._session
        ]

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """Close it."""
        self.send("Page.close")

    def complaints(self) -> list[str]:
        """What the browser had to complain about in it: errors of scripts, what the content policy refused."""
        said = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:  # a page of another test, whose server is gone
                continue
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded":
                said.append(params["entry"]["text"])
            elif event.get("method") == "Runtime.exceptionThrown":
                said.append(params["exceptionDetails"]["text"])
        return said
