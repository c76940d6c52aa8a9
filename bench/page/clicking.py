"""`python -m bench.page.clicking [PATH...]`: clicks every link of every finding, and of every table's first rows.

Of each labelled recording, or of those given, the page is opened in a browser. Each link of a finding's card must lead
to its place: an event that is chosen and seen, or a stretch that is selected, with the finding's title and what it is
worth beside it; rows of a table; a page. Tables are looked at the same way: where their first rows lead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.page.browsing import opened_browser
from bench.recordings.__main__ import LABELLED
from bench.recordings.label import labels

_LINKS: Final = """[...document.querySelectorAll('.finding')].map((card, finding) => [...card.querySelectorAll('a')]
    .map(a => [finding, a.hash, a.closest('.places') ? 'place' : 'other']))"""
_WAITING: Final = "document.querySelector('main [aria-busy=true], main progress')"
_ALERT: Final = "(document.querySelector('main [role=alert]')?.textContent ?? '')"
_BOARD: Final = "window.stepscopeTimeline"
_SEEN: Final = f"""(() => {{
  const board = {_BOARD}, chosen = board.selected.value, range = board.range.value, {{from, to}} = board.view;
  const [start, end] = chosen ? [chosen.start, chosen.start + (chosen.dur ?? 0)] : range ? [range.from, range.to] : [];
  return {{event: chosen?.id ?? null, range: range !== null, seen: start >= from - 1 && end <= to + 1,
    drawn: board.stats.drawn, said: document.querySelector('.tl-way')?.textContent ?? ''}};
}})()"""


@dataclass(slots=True)
class Clicked:
    """What clicking came to."""

    findings: int = 0
    links: int = 0
    placeless: list[str] = field(default_factory=list)
    rows: int = 0
    failures: list[str] = field(default_factory=list)


def main() -> None:
    """Click, print a line per recording, and exit with 1 if a link led nowhere."""
    parser = argparse.ArgumentParser(prog="python -m bench.page.clicking", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="recordings; all that are labelled if none is given")
    parser.add_argument("--most", type=float, default=3.0, help="leave out labelled recordings of more MB")
    parser.add_argument("--only", default="", help="only labelled recordings whose path contains this")
    parser.add_argument("--rows", type=int, default=2, help="rows of each table whose place is looked at")
    options = parser.parse_args()
    failed = False
    columns = ("recording", "findings", "their links", "rows of tables", "without a place", "failures")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for path, clicked in _all(options.paths or list(_labelled(options.most, options.only)), options.rows):
        failed |= bool(clicked.failures)
        said = "; ".join(clicked.failures) or "none"
        without = ", ".join(clicked.placeless) or "none"
        print(f"| {path} | {clicked.findings} | {clicked.links} | {clicked.rows} | {without} | {said} |", flush=True)
    raise SystemExit(failed)


def _labelled(most: float, only: str) -> Iterator[Path]:
    for label in labels(LABELLED):
        path = LABELLED / label.path
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        if only in label.path and files and sum(one.stat().st_size for one in files) <= most * 1e6:
            yield path


def _all(paths: list[Path], rows: int) -> Iterator[tuple[str, Clicked]]:
    with opened_browser() as one:
        from web.serving import viewed

        for path in paths:
            shown = str(path.relative_to(LABELLED)) if path.is_relative_to(LABELLED) else path.name
            with viewed(path) as address:
                page = one.page(address, 1280, "light", 800)
                page.eventually("!!document.querySelector('.shell main h1')", 300)
                yield shown, clicked(page, rows)
                page.close()


def clicked(page: Any, rows: int) -> Clicked:
    """Click all links of a page's findings, and so many rows of each of its tables."""
    found = Clicked()
    findings: list[dict[str, Any]] = page.run(
        "[...document.querySelectorAll('.finding')].map(one => ({title: one.querySelector('.title').textContent,"
        " worth: one.querySelector('.worth').textContent}))"
    )
    found.findings = len(findings)
    page.eventually(f"!{_WAITING}", 60)
    time.sleep(0.3)  # words of links come with the places
    links: list[list[list[Any]]] = page.run(_LINKS)
    for card, mine in zip(findings, links, strict=True):
        places = [link for _, link, kind in mine if kind == "place"]
        if not places:
            found.placeless.append(card["title"])
        for _, link, _ in mine:
            found.links += 1
            if problem := _followed(page, link, card):
                found.failures.append(f"{card['title']} {link}: {problem}")
    tables = "fetch('api/report' + location.search).then(r => r.json()).then(r => Object.keys(r.tables))"
    for table in page.run(tables) if rows else ():
        _table(page, table, rows, found)
    if complaints := page.complaints():
        found.failures.append(f"complaints: {complaints[:3]}")
    return found


def _table(page: Any, table: str, rows: int, found: Clicked) -> None:
    _go(page, f"#/tables?table={table}")
    for link in page.run(f"[...document.querySelectorAll('td.go a')].slice(0, {rows}).map(a => a.hash)"):
        found.rows += 1
        if problem := _followed(page, link, None):
            found.failures.append(f"row of {table} {link}: {problem}")


def _go(page: Any, link: str) -> None:
    page.run(f"{_BOARD}?.forget(); location.hash = {link!r}")
    page.eventually(f"location.hash !== '' && !{_WAITING}", 60)


def _followed(page: Any, link: str, card: dict[str, Any] | None) -> str:
    """What is wrong with where a link leads; empty if nothing is."""
    _go(page, "#/overview")
    _go(page, link)
    try:
        if not link.startswith("#/timeline"):
            page.eventually(f"!!document.querySelector('main h1, main h2, main article') && !{_WAITING}", 60)
            if link.startswith("#/tables") and not page.run("document.querySelectorAll('.table tbody tr').length"):
                return "no rows"
            return str(page.run(_ALERT))
        page.eventually(f"{_BOARD} && {_BOARD}.store.pending === 0 && {_BOARD}.moved.value > 1", 60)
        if link.count("=") > 1:
            page.eventually(
                f"{_ALERT} || {_BOARD}.range.value || ({_BOARD}.selected.value && {_BOARD}.details.value)", 20
            )
    except AssertionError as error:
        return f"it never came ({error})"
    if problem := str(page.run(_ALERT)):
        page.run(f"{_BOARD}.error.value = null")
        return problem
    if link.count("=") < 2:
        return ""
    place = page.run(_SEEN)
    wanted = [int(one.removeprefix("event=")) for one in link.split("?")[1].split("&") if one.startswith("event=")]
    if wanted and place["event"] != wanted[0]:
        return f"event {place['event']} is chosen"
    if not place["seen"]:
        return "it is out of sight"
    if card is None:
        return ""
    if card["title"] not in place["said"]:
        return f"the finding is not said, but {place['said']!r}"
    return "" if card["worth"] in place["said"] else f"what it is worth is not said: {place['said']!r}"


if __name__ == "__main__":
    main()
