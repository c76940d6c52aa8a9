"""Pages of all kinds of recordings in Chinese in a real browser: no English is left but names and code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import browser
from stepscope.comparison.build import compare_traces
from stepscope.ingest import Options, open_trace
from stepscope.simulate import SimJob, simulate
from web.chinese import TEXTS, english, names_of
from web.pages import go, listed, opened
from web.serving import compared, viewed

NPU = SimJob(device="ascend910b2", ranks=2, steps=4, model="mlp", layers=2)
KINDS = ("many ranks", "Ascend", "Nsight", "snapshot", "comparison")

#: Tracks that readers name, as recordings name theirs.
TRACKS = {"thread annotations"}


@contextmanager
def served(kind: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of the page of a recording, and names in it."""
    small = SimJob(steps=4, model="mlp", layers=2)
    base, new = folder / "base", folder / "new"
    if kind == "many ranks":
        simulate(SimJob(ranks=12, steps=4, model="mlp", layers=2), base, faults=("slow-rank",))
    elif kind == "Ascend":
        simulate(NPU, base, "ascend")
    elif kind == "Nsight":
        simulate(SimJob(ranks=2, steps=4, model="mlp", layers=2), base, "nsight")
    elif kind == "snapshot":
        simulate(SimJob(steps=4), base, "memsnapshot")
    else:
        simulate(small, base)
        simulate(small, new, faults=("item-sync",))
    with ExitStack() as opening:
        traces = [opening.enter_context(open_trace([one], Options(cache=False))) for one in (base, new) if one.exists()]
        known = {name for trace in traces for name in names_of(trace)} | TRACKS
        if len(traces) > 1:
            known |= {one.replace("_", " ") for one in compare_traces(*traces).tables}
        names = sorted(known, key=len, reverse=True)
        place = opening.enter_context(compared(base, new) if new.exists() else viewed(base))
        yield place, names


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_has_english_but_names(
    kind: str, chromium: browser.Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    with served(kind, tmp_path) as (address, names):
        page = opened(chromium, address)
        left: dict[str, list[str]] = {}
        # Of a comparison, the last two lead to the pages of both recordings.
        for place in filter(None, listed(page)):
            go(page, place)
            left[place] = english(page.run(TEXTS), names)
            assert page.run("/[\\u4e00-\\u9fff]/.test(document.querySelector('main').textContent)"), place
        page.close()
    assert {place: texts for place, texts in left.items() if texts} == {}
