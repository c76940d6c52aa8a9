"""TensorBoard's tab, in a real TensorBoard that finds it by its entry point."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest

import browser
from stepscope.web.security import LOCAL
from stepscope.web.tensorboard import allowed_hosts
from web.runs.recorded import recorded

FRAME = "document.querySelector('iframe')?.contentDocument"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, [*LOCAL]),
        ({"host": "10.0.0.7", "bind_all": False}, [*LOCAL, "10.0.0.7"]),
        ({"stepscope_allowed_hosts": "a.example,b"}, [*LOCAL, "a.example", "b"]),
        ({"stepscope_allowed_hosts": "*"}, None),
        ({"bind_all": True}, None),
        (None, [*LOCAL]),
    ],
)
def test_names_under_which_the_tab_answers(flags: dict[str, Any] | None, expected: list[str] | None) -> None:
    assert allowed_hosts(None if flags is None else Namespace(**flags)) == expected


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a TensorBoard over two recordings and a broken one."""
    folder = tmp_path_factory.mktemp("logs")
    for age, name in enumerate(("newer", "older")):
        os.utime(recorded(folder / name / "trace.json"), (2_000_000_000 - age,) * 2)
    broken = folder / "<b>broken" / "host_7.1700000000000.pt.trace.json"
    broken.parent.mkdir()
    broken.write_text("cut off")
    os.utime(broken, (1_000_000_000,) * 2)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--load_fast", "false"]
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"http://localhost:\d+/", said)):
                line = process.stderr.readline()
                assert line, said
                said += line
            yield found[0]
        finally:
            process.kill()


def test_the_tab_shows_every_recording(chromium: browser.Browser, board: str) -> None:
    page = chromium.page(f"{board}#stepscope", 1280)
    page.eventually(f"{FRAME}?.querySelector('main h1')?.textContent === 'newer/trace.json'", 60)
    assert page.run(f"[...{FRAME}?.querySelectorAll('.choices option')].map(one => one.textContent)") == [
        "<b>broken", "newer", "older",
    ]  # fmt: skip
    page.run(f"{FRAME}?.querySelector('.choices select').focus()")

    def choose(name: str) -> None:
        page.run(
            f"""(select => {{
                select.value = [...select.options].find(one => one.textContent === {name!r}).value;
                select.dispatchEvent(new Event('change', {{bubbles: true}}));
            }})({FRAME}?.querySelector('.choices select'))"""
        )

    choose("older")
    page.eventually(f"{FRAME}?.querySelector('main h1')?.textContent === 'older/trace.json'", 60)
    page.run(f"({FRAME}).defaultView.location.hash = '#/timeline'")
    page.eventually(f"!!{FRAME}?.querySelector('.tl canvas')", 6)
    # The address of a frame is not seen: the place is there again when it is loaded anew.
    page.eventually(f"{FRAME}?.defaultView.location.hash.startsWith('#/timeline')")
    page.run(f"({FRAME}).defaultView.location.replace(({FRAME}).defaultView.location.pathname)")
    page.eventually(f"{FRAME}?.defaultView.location.hash.startsWith('#/timeline?exact=1')", 60)
    page.run(f"({FRAME}).defaultView.location.hash = '#/timeline'")
    choose("<b>broken")
    page.eventually(f"{FRAME}?.querySelector('[role=alert]')?.textContent.includes('is text that is no recording')", 60)
    assert page.run(f"{FRAME}.defaultView.location.hash") == "#/timeline"
    page.eventually(f"{FRAME}?.querySelector('.choices option')?.textContent.endsWith(\"(can't be read)\")")
    assert {one.split("/")[2] for one in page.requested() if one.startswith("http")} == {board.split("/")[2]}
    assert [one for one in page.complaints() if "Content Security Policy" in one] == []
    page.close()
