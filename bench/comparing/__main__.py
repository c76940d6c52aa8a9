"""`python -m bench.comparing`: changes planted in real recordings, what is said of them, and alarms of noise."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.comparing.ascend import with_steps
from bench.comparing.judging import Judged, compared, judged, opened, reading
from bench.comparing.least import least_found
from bench.comparing.noise import alarms
from bench.comparing.plants import PLANTS
from bench.comparing.truth import NotThereError
from bench.recordings.__main__ import LABELLED

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
#: Ranks of Ascend, text and databases, of one step each.
ASCEND = (
    "ascend/alexnet_ddp_level1_text/rank0_ascend_pt",
    "ascend/alexnet_ddp_level0_text/rank1_ascend_pt",
    "ascend/alexnet_ddp_level1_db/rank0_ascend_pt",
    "cases/third/ascend/db_level0/rank1_ascend_pt",
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
    parser.add_argument("--ascend", action="store_true", help="ranks of Ascend, of one step each")
    parser.add_argument(
        "--steps", type=int, default=1, help="how often the step of a rank of Ascend, as text, is there"
    )
    parser.add_argument("--noise", type=int, default=0, help="pairs that differ by noise alone, instead of plants")
    parser.add_argument(
        "--least", action="store_true", help="how small a change is found, instead: 1 to 10 %% of the step"
    )
    options = parser.parse_args()
    every = ASCEND if options.ascend else OTHERS if options.others else RECORDINGS
    chosen = [one for one in every if options.only in one]
    with tempfile.TemporaryDirectory() as folder:
        if options.noise:
            found = alarms(options.folder, chosen, options.noise, Path(folder))
            print(f"{options.noise} pairs of noise: {dict(found)}")
            return
        if options.least:
            print("| recording | planted | steps | verdict from | cause from | said |\n" + "|---" * 6 + "|")
            for name in chosen:
                for one in least_found(options.folder / name, options.plant, options.seed, Path(folder)):
                    print(f"| {name} {one}", flush=True)
            return
        right: Counter[str] = Counter()
        how = _Planting(
            options.steps, options.folder, options.plant, options.size, options.swapped, options.seed, Path(folder)
        )
        for name, kind, row in _planted(chosen, how):
            right.update(
                pairs=1, verdicts=row.verdict, causes=row.cause, gates=row.gate, both=row.verdict and row.cause
            )
            marks = " ".join("ok" if one else "WRONG" for one in (row.verdict, row.cause, row.gate))
            print(f"| {name} | {kind} | {row.growth:+.1%} | {marks} | {row.said} |", flush=True)
        print(dict(right))


@dataclass(frozen=True)
class _Planting:
    """How plants are made: in how many steps, of which folder, which, how large, of which side, and where written."""

    steps: int
    folder: Path
    only: str
    size: float
    swapped: bool
    seed: int
    place: Path


def _planted(recordings: list[str], how: _Planting) -> Iterator[tuple[str, str, Judged]]:
    for name in recordings:
        source = how.folder / name
        whole = reading(source if how.steps == 1 else with_steps(source, how.steps, how.place / "steps"))
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


if __name__ == "__main__":
    sys.exit(main())
