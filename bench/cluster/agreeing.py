"""`python -m bench.cluster.agreeing`: do table and findings name the same late ranks, on each recording of several?"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Final

from bench.cluster.here import here
from bench.recordings.__main__ import LABELLED
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import StepscopeError
from stepscope.reports.build import ReportOptions, build_report
from stepscope.rules.settings import Settings

#: Files that hold recordings, by the end of their names.
_FILES: Final = (".json", ".json.gz", ".sqlite")
_OWN: Final = ("PROVENANCE", "labels-", "expected")


def main() -> None:
    """Print a row for each recording of several ranks; exit with 1 where two disagree."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.agreeing", description=__doc__)
    parser.add_argument("--folder", type=Path, default=LABELLED, help="folder with the recordings")
    parser.add_argument("--only", default="", help="only recordings whose path contains this")
    options = parser.parse_args()
    wrong = 0
    print("| recording | ranks | slow by the table | named | agree |\n" + "|---" * 5 + "|")
    for path in inputs(options.folder):
        if options.only not in str(path):
            continue
        found = _judged(path)
        if found is not None:
            ranks, late, named = found
            wrong += late != named
            cells = (str(path.relative_to(options.folder)), str(ranks), _listed(late), _listed(named))
            print(f"| {' | '.join(cells)} | {'yes' if late == named else 'NO'} |", flush=True)
    raise SystemExit(bool(wrong))


def inputs(folder: Path) -> list[Path]:
    """What may hold several ranks: folders whose children are ranks' folders or files, and databases of Nsight."""
    found = set(folder.rglob("*.sqlite"))
    for one in (path for path in folder.rglob("*") if path.is_dir()):
        children = [child for child in one.iterdir() if not child.name.startswith(_OWN)]
        ranks = [child for child in children if child.is_dir() and child.name.endswith("_ascend_pt")]
        files = [child for child in children if child.name.endswith(_FILES[:2]) and "rank" in child.name]
        files += [child for child in children if child.name.endswith(_FILES[:2]) and "worker" in child.name]
        if len(ranks) > 1 or (len(files) > 1 and len(files) == len(children)):
            found.add(one)
    return sorted(found)


def _judged(path: Path) -> tuple[int, set[int], set[int]] | None:
    """Ranks, the late ones by the table, and those that findings name; None for one rank, or what can't be read."""
    with tempfile.TemporaryDirectory() as store:
        try:
            with open_trace(path, Options(store=Path(store), workers=here)) as trace:
                if len(trace.ranks) < 2:
                    return None
                report = build_report(trace, ReportOptions(page=True, rules=Settings()))
        except StepscopeError:
            return None
    shown = report.diagnosis.shown if report.diagnosis is not None else ()
    late = {row["rank"] for row in report.rows("slow_ranks") if row["slow"]}
    return len(trace.ranks), late, {rank for one in shown for rank in one.late}


def _listed(ranks: set[int]) -> str:
    return ", ".join(map(str, sorted(ranks))) or "nobody"


if __name__ == "__main__":
    main()
