"""`python -m bench.recordings`: the diagnosis of labelled real recordings, as the tables of the documentation."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from bench.recordings.answer import answer
from bench.recordings.label import Label, labels
from bench.recordings.score import Verdict, figures, judge

#: The folder of labelled recordings beside the checkout.
LABELLED = Path(__file__).resolve().parents[3] / "shared" / "traces"

_DOCUMENT: Final = Path(__file__).resolve().parents[2] / "docs" / "diagnosis-recordings.md"
_START, _END = "<!-- judged -->", "<!-- end of judged -->"


def main() -> None:
    """Judge every labelled recording and print two Markdown tables; exit with 1 if an analysis or a rule failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.recordings", description=__doc__)
    parser.add_argument("--labels", type=Path, default=LABELLED, help="folder with labels-*.json and the recordings")
    parser.add_argument("--only", default="", help="only recordings whose path contains this")
    parser.add_argument("--store", type=Path, help="folder that keeps what was read; a temporary one if absent")
    parser.add_argument("--processes", type=int, default=2, help="recordings judged at a time")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/diagnosis-recordings.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write is for all recordings: leave out --only")
    chosen = [label for label in labels(options.labels) if options.only in label.path]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(options.processes) as executor:
        one = partial(verdict, options.labels, options.store or Path(folder))
        verdicts = list(executor.map(one, chosen))
    tables = "\n".join(table(verdicts))
    print(tables)
    if options.write:
        before, rest = _DOCUMENT.read_text(encoding="utf-8").split(_START)
        _DOCUMENT.write_text(f"{before}{_START}\n{tables}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    if any(one.answer.failed for one in verdicts):
        raise SystemExit(1)


def verdict(folder: Path, store: Path, label: Label) -> Verdict:
    """Analyse the recording of a label and judge it."""
    return judge(label, answer(folder / label.path, store))


def table(verdicts: list[Verdict]) -> Iterator[str]:
    """Lines of the two tables."""
    yield "| what | right | of | share |"
    yield "|---|---|---|---|"
    for figure in figures(verdicts):
        yield f"| {figure.name} | {figure.right} | {figure.asked} | {figure.share:.1%} |"
    yield ""
    yield "| recording | first finding | share of the step | labelled | steps | misses |"
    yield "|---|---|---|---|---|---|"
    for one in verdicts:
        yield _row(one)


def _row(one: Verdict) -> str:
    label, found = one.label, one.answer
    first = f"{found.findings[0].code} {found.findings[0].title}" if found.findings else "none"
    share = "" if found.share is None else f"{found.share:.1%}"
    gain = "" if label.gain is None else f", {label.gain:.1%}"
    steps = f"{found.recorded_steps}, typical {found.typical_steps}; labelled {label.steps}"
    misses = [
        *([] if one.first else ["first finding"]),
        *(f"says “{word}”" for word in one.false),
        *([] if one.said else ["says none of the words"]),
        *(["steps"] if one.steps is False else []),
        *(["price"] if one.gain is False else []),
        *(f"{name} failed" for name in found.failed),
    ]
    return f"| {label.path} | {first} | {share} | {', '.join(label.first)}{gain} | {steps} | {'; '.join(misses)} |"


if __name__ == "__main__":
    main()
