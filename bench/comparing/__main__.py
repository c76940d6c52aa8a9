"""`python -m bench.comparing`: changes planted in real recordings, what is said of them, and alarms of noise."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.comparing.judging import Judged, compared, judged, opened
from bench.comparing.nsight import PlantedDatabase
from bench.comparing.plants import PLANTS
from bench.comparing.trace import PlantedTrace
from bench.comparing.truth import NotThereError
from bench.recordings.__main__ import LABELLED
from stepscope.comparison.gates import growth_limit, judge

#: Recordings of several steps: convolutions, recommendation, a ResNet of three years, ranks of two jobs, and of Nsight
#: Systems a language model, a hydrodynamics code with many synchronisations, and one with annotations.
RECORDINGS = (
    "kineto/v100_resnet50_workers0/trace.json.gz",
    "kineto/a100_diff_control/trace.json.gz",
    "kineto/v100_ns_resolution/trace.json.gz",
    "cases/kineto_more/29dba67d__worker0.pt.trace.json.gz",
    "kineto/mi300_resnet_recompute_ddp8/trace.json.gz",
    "nsys/lm_2_7b.sqlite",
    "nsys/cloverleaf_sync_heavy.sqlite",
    "cases/nsys/4ae8936d__result.sqlite",
)
#: Recordings that nothing was tuned on.
OTHERS = (
    "kineto/v100_diff_test/trace.json.gz",
    "kineto/a100_nccl_args/trace.json.gz",
    "kineto/v100_resnet50_workers4/trace.json.gz",
    "cases/kineto_more/4a9c9ae5__worker0.pt.trace.json.gz",
    "kineto/old_bare_list_2021/trace.json.gz",
)


def main() -> None:
    """Print a row for each plant, the sums, and of noise the alarms."""
    parser = argparse.ArgumentParser(prog="python -m bench.comparing", description=__doc__)
    parser.add_argument("--folder", type=Path, default=LABELLED, help="folder with the recordings")
    parser.add_argument("--only", default="", help="only recordings whose path contains this")
    parser.add_argument("--plant", default="", help="only plants whose name contains this")
    parser.add_argument("--size", type=float, default=1.0, help="how large plants are; 1 is about a tenth of the step")
    parser.add_argument("--seed", type=int, default=1, help="of the noise")
    parser.add_argument("--swapped", action="store_true", help="the base has the plant, and the new side lacks it")
    parser.add_argument("--others", action="store_true", help="the recordings that nothing was tuned on")
    parser.add_argument("--noise", type=int, default=0, help="pairs that differ by noise alone, instead of plants")
    options = parser.parse_args()
    chosen = [one for one in (OTHERS if options.others else RECORDINGS) if options.only in one]
    with tempfile.TemporaryDirectory() as folder:
        if options.noise:
            _noise(options.folder, chosen, options.noise, Path(folder))
            return
        right: Counter[str] = Counter()
        how = _Planting(options.folder, options.plant, options.size, options.swapped, options.seed, Path(folder))
        for name, kind, row in _planted(chosen, how):
            right.update(
                pairs=1, verdicts=row.verdict, causes=row.cause, gates=row.gate, both=row.verdict and row.cause
            )
            marks = " ".join("ok" if one else "WRONG" for one in (row.verdict, row.cause, row.gate))
            print(f"| {name} | {kind} | {row.growth:+.1%} | {marks} | {row.said} |", flush=True)
        print(dict(right))


@dataclass(frozen=True)
class _Planting:
    """How plants are made: which, how large, whether the base has them, of which folder, and where they are written."""

    folder: Path
    only: str
    size: float
    swapped: bool
    seed: int
    place: Path


def _planted(recordings: list[str], how: _Planting) -> Iterator[tuple[str, str, Judged]]:
    for name in recordings:
        whole = _read(how.folder / name)
        base = whole.copy()
        base.jitter(2 * how.seed - 1)
        with opened(base.save(how.place / "base.json")) as first:
            for kind, plant in PLANTS.items():
                new = whole.copy()
                try:
                    if not any(part in kind for part in how.only.split(",")):
                        continue
                    truth = plant(new, how.size)
                except NotThereError:
                    continue
                new.jitter(2 * how.seed)
                with opened(new.save(how.place / "new.json")) as second:
                    if how.swapped:
                        truth = replace(truth, added_ns=-truth.added_ns, memory=-truth.memory)
                        found = compared(second, first)
                    else:
                        found = compared(first, second)
                yield name, kind, judged(found, truth)


def _read(path: Path) -> PlantedTrace:
    return PlantedDatabase(path) if path.suffix == ".sqlite" else PlantedTrace(path)


def _noise(folder: Path, recordings: list[str], pairs: int, place: Path) -> None:
    alarms: Counter[str] = Counter()
    wholes = {name: _read(folder / name) for name in recordings}
    for number in range(pairs):
        name = recordings[number % len(recordings)]
        paths: list[Path] = []
        for i, side in enumerate(("base", "new")):
            trace = wholes[name].copy()
            trace.jitter(1000 + 2 * number + i)
            paths.append(trace.save(place / f"{side}.json"))
        with opened(paths[0]) as base, opened(paths[1]) as new:
            found = compared(base, new)
        [gate] = judge([growth_limit("step_time>3%")], found.metrics)
        sure = [str(one) for one in found.causes if one.sure]
        raised = {"verdict": found.verdict in ("faster", "slower"), "gate": gate.failed, "sure cause": bool(sure)}
        alarms.update(name for name, is_raised in raised.items() if is_raised)
        if any(raised.values()):
            print(number, name, found.verdict, found.step_time.reason, found.cause, flush=True)
    print(f"{pairs} pairs of noise: {dict(alarms) or 'no alarm'}")


if __name__ == "__main__":
    sys.exit(main())
