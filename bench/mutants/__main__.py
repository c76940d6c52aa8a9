"""`python -m bench.mutants`: small mistakes in signals, analyses and rules, and which test notices each."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.mutants.covering import covering
from bench.mutants.mutants import Mutant, sample
from bench.mutants.trial import failing

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCE: Final = _ROOT / "src" / "stepscope"


def main() -> None:
    """Print which test kills each mutant, and a Markdown table of those that survive; as many as time allows."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=100, help="mutants drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--first", type=int, default=0, help="leave out so many of them")
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no further mutant after so long")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    killed, survived = 0, []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as stores:
        os.environ["STEPSCOPE_TEST_STORES"] = stores
        for mutant in sample(_SOURCE, options.number, options.seed)[options.first :]:
            if time.monotonic() > until:
                break
            test = _killer(mutant)
            print(f"{_said(mutant)}: {test or 'SURVIVED'}", flush=True)
            killed += test is not None
            survived += [mutant] if test is None else []
    tried = killed + len(survived)
    print(f"\n{killed} of {tried} killed ({killed / max(tried, 1):.0%}); seed {options.seed}\n")
    print("\n".join(f"* `{_said(mutant)}`" for mutant in survived))


def _killer(mutant: Mutant) -> str | None:
    """The test that notices a mutant, and passes without it."""
    for files in covering(mutant.path, _SOURCE, _ROOT / "tests"):
        test = failing(mutant, [str(file) for file in files])
        if test is not None:
            if "::" in test and failing(None, [str(_ROOT / test)]):
                raise SystemExit(f"{test} fails without a mutant, too")
            return test
    return None


def _said(mutant: Mutant) -> str:
    return f"{mutant.path.relative_to(_SOURCE)}:{mutant.line}: {mutant.before} -> {mutant.after}"


if __name__ == "__main__":
    main()
