"""`python -m bench.recordings.variants`: labelled recordings changed in ways that must not change their diagnosis."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.recordings.__main__ import LABELLED, verdict
from bench.recordings.answer import answer
from bench.recordings.label import Label, labels
from bench.recordings.score import Verdict
from bench.recordings.variants.catalogue import Variant, load, variants
from bench.recordings.variants.judging import faults
from bench.recordings.variants.recording import NotApplicableError
from stepscope.model.errors import StepscopeError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is wrong with the answer to a variant of a recording."""

    path: str
    variant: str
    faults: tuple[str, ...]


def main() -> None:
    """Analyse every variant of every labelled recording; print faults and a table; exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.recordings.variants", description=__doc__)
    parser.add_argument("--labels", type=Path, default=LABELLED, help="folder with labels-*.json and the recordings")
    parser.add_argument("--only", nargs="+", default=[""], help="only recordings whose path contains one of these")
    parser.add_argument("--variant", default="", help="only variants whose name contains this")
    parser.add_argument("--store", type=Path, help="folder that keeps what was read of the recordings themselves")
    parser.add_argument("--processes", type=int, default=2, help="recordings looked at at a time")
    options = parser.parse_args()
    chosen = [label for label in labels(options.labels) if any(part in label.path for part in options.only)]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(options.processes) as executor:
        one = partial(outcomes_of, options.labels, options.store or Path(folder), options.variant)
        for some in executor.map(one, chosen):
            for outcome in some:
                if outcome.faults:
                    print(f"{outcome.path}: {outcome.variant}: {'; '.join(outcome.faults)}", flush=True)
            outcomes += some
    print("\n".join(table(outcomes)))
    if any(fault.startswith("failed") for outcome in outcomes for fault in outcome.faults):
        raise SystemExit(1)


def outcomes_of(folder: Path, store: Path, wanted: str, label: Label) -> list[Outcome]:
    """Judge the variants of one recording that it takes."""
    base = verdict(folder, store, label)
    found = []
    for variant in variants():
        if wanted in variant.name:
            with tempfile.TemporaryDirectory() as place:
                try:
                    path = made(folder / label.path, variant, Path(place))
                except NotApplicableError:
                    continue
                found.append(Outcome(label.path, variant.name, _judged(base, path, variant, Path(place))))
    return found


def made(source: Path, variant: Variant, place: Path) -> Path:
    """Write a variant of a recording.

    Raises:
        NotApplicableError: The recording has nothing that the variant changes.
    """
    recording = load(source, place)
    try:
        variant.change(recording)
        target = place / "another"
        target.mkdir()
        return recording.save(target)
    finally:
        recording.close()


def _judged(base: Verdict, path: Path, variant: Variant, place: Path) -> tuple[str, ...]:
    try:
        return tuple(faults(base, answer(path, place / "store"), variant))
    except StepscopeError as error:
        # Nothing usable is left: the most silent answer there is.
        return () if "holds no event" in str(error) else (f"refused: {error}",)


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """Lines of the table: recordings, and those with faults, by variant."""
    yield "| variant | recordings | without fault | first or findings | steps | price | words | failed |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in [variant.name for variant in variants()]:
        some = [outcome for outcome in outcomes if outcome.variant == name]
        if some:
            yield _row(name, some)
    yield _row("all", outcomes)


def _row(name: str, some: list[Outcome]) -> str:
    kinds = ("first", "findings"), ("steps",), ("price",), ("says",), ("failed", "refused")
    counts = [sum(any(fault.startswith(kind) for fault in outcome.faults) for outcome in some) for kind in kinds]
    right = sum(not outcome.faults for outcome in some)
    return f"| {name} | {len(some)} | {right} | {' | '.join(map(str, counts))} |"


if __name__ == "__main__":
    main()
