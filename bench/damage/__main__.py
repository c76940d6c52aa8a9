"""Damage recordings, crowd a cache, kill commands and take their room; the table of docs/reliability.md."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

_DOCUMENT: Final = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
_START, _END = "<!-- measured -->", "<!-- end -->"
#: How many mutations a recording gets: half of the recordings one, so that nothing hides behind something worse.
_TOGETHER: Final = (1, 1, 1, 1, 6, 12, 24, 48)
#: Parts of the time for kills, full disks and crowds, which come first; mutations have the rest.
_SHARES: Final = {"kills": 0.12, "full": 0.06, "crowds": 0.35}


def main() -> None:
    """Run all of it, or a part, within the time given."""
    parser = argparse.ArgumentParser(prog="python -m bench.damage", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="time for all of it")
    parser.add_argument("--mutations", type=int, default=10_000, help="mutations of recordings, over all sources")
    parser.add_argument("--runs", type=int, default=500, help="concurrent runs on one cold cache")
    parser.add_argument("--kills", type=int, default=100, help="runs that are killed")
    parser.add_argument("--full", type=int, default=20, help="runs on a full disk")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything that is random")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="mutations that are tried at once")
    parser.add_argument("--details", type=int, default=20, help="failures of each kind that are shown")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-damage-"))
    started = monotonic()
    try:
        table = "\n".join(_rows(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    minutes = (monotonic() - started) / 60
    table = f"Seed {options.seed}, {os.cpu_count()} cores, {minutes:.1f} minutes.\n\n{table}"
    print(f"\n{table}")
    if options.write:
        text = _DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(_START)
        _DOCUMENT.write_text(f"{before}{_START}\n{table}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    # Forked commands must not inherit threads: nothing here may have opened a trace before them.
    from bench.damage import processes

    started, seconds = monotonic(), options.minutes * 60
    path = _job(folder)
    yield "| what | number | wrong | left behind | of it |"
    yield "|---|---|---|---|---|"
    end = started
    for share, name, experiment, number in (
        ("kills", "killed at any moment, then run again", processes.kills, options.kills),
        ("full", "without room for files beyond some size", processes.full_disks, options.full),
        ("crowds", "2 to 8 at once on one cold cache that is cleared and shrunk", processes.crowds, options.runs),
    ):
        end += _SHARES[share] * seconds
        counted = experiment(folder, path, number, options.seed, end)
        _show(counted.failures, options.details)
        wrong = len(counted.failures)
        runs = _of(counted.runs, number)
        yield f"| {name} | {runs} | {wrong} | {counted.left} | {counted.different} other reports |"
    yield from _mutated(options, folder, started + seconds)


def _job(folder: Path) -> Path:
    """A recording for whole commands, which import all they need before they are forked."""
    from bench.damage.processes import import_all
    from stepscope.simulate import PRESETS, simulate
    from stepscope.simulate.settings import with_settings

    import_all()
    simulate(with_settings(PRESETS["tiny"], ["ranks=1", "steps=2", "layers=1"]), folder / "job")
    return folder / "job"


def _mutated(options: argparse.Namespace, folder: Path, deadline: float) -> Iterator[str]:
    from bench.damage.case import DIED, FAILED, GONE, HUNG, READ, REFUSED, SILENT, Case, Outcome, clean
    from bench.damage.recordings import recordings
    from bench.damage.workers import outcomes

    known = recordings(folder)
    [clean(recording) for recording in known]  # warm, so that times are of the analysis
    undamaged = {position: clean(recording) for position, recording in enumerate(known)}
    chance = random.Random(options.seed)
    cases: list[Case] = []
    for position in itertools.cycle(range(len(known))):
        if sum(case.mutations for case in cases) >= options.mutations:
            break
        cases.append(Case(position, chance.choice(_TOGETHER), chance.randrange(2**32)))
    by_source: dict[int, list[Outcome]] = {position: [] for position in range(len(known))}
    for found in outcomes(cases, known, undamaged, deadline, options.processes):
        by_source[found.case.recording].append(found)
    yield ""
    yield "| source | mutations | recordings | read | refused | failed, died | hung | silent losses | gone | memory |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for position, found in by_source.items():
        count = Counter(each.verdict for each in found)
        for verdict in (FAILED, DIED, HUNG, SILENT, GONE):
            _show(
                [f"{verdict}: {each.case}: {each.detail}" for each in found if each.verdict == verdict], options.details
            )
        mutations = sum(each.case.mutations for each in found)
        memory = max((each.peak_kb for each in found), default=0) >> 10
        yield (
            f"| {known[position].source} | {mutations:,} | {len(found):,} | {count[READ] + count[GONE]:,} | "
            f"{count[REFUSED]:,} | {count[FAILED] + count[DIED]:,} | {count[HUNG]:,} | {count[SILENT]:,} | "
            f"{count[GONE]:,} | {memory} MiB |"
        )
    every = [each for found in by_source.values() for each in found]
    yield (
        f"| all | {_of(sum(each.case.mutations for each in every), options.mutations)} | {len(every):,} | | | "
        f"{sum(each.verdict in (FAILED, DIED) for each in every)} | {sum(each.verdict == HUNG for each in every)} | "
        f"{sum(each.verdict == SILENT for each in every)} | {sum(each.verdict == GONE for each in every)} | "
        f"{max((e.peak_kb for e in every), default=0) >> 10} MiB |"
    )


def _of(done: int, wanted: int) -> str:
    """How many there were, and of how many that were wanted if the time was over before."""
    return f"{done:,}" if done >= wanted else f"{done:,} of {wanted:,}"


def _show(failures: list[str], most: int) -> None:
    for failure in failures[:most]:
        print(failure, flush=True)


if __name__ == "__main__":
    main()
