"""`python -m bench.diagnosis`: print how often the diagnosis is right."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.diagnosis.answers import ANSWERS
from bench.diagnosis.case import Outcome, judged
from bench.diagnosis.cases import Case, cases
from bench.diagnosis.families import FAMILIES
from bench.diagnosis.kept import keep, kept, key_of
from bench.diagnosis.score import Score, price_error, score


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis", description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="tuning")
    parser.add_argument("--healthy", type=int, default=40, help="jobs without a fault")
    parser.add_argument("--each", type=int, default=5, help="jobs with each fault")
    parser.add_argument("--pairs", type=int, default=40, help="jobs with two faults")
    parser.add_argument("--fault", action="append", help="only cases with this fault")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--clean", action="store_true", help="leave out what real recordings are full of")
    parser.add_argument("--out", type=Path, help="keep every outcome here, and skip those that are here already")
    parser.add_argument("--verbose", action="store_true", help="show every case that went wrong")
    options = parser.parse_args()
    family = FAMILIES[options.family]
    chosen = cases(family, options.healthy, options.each, options.pairs, options.fault or ())
    known = kept(options.out)
    outcomes = []
    with ProcessPoolExecutor(options.processes) as executor:
        # Cases are drawn here while others are judged already.
        awaited = [
            known.get(key_of(case)) or executor.submit(_judged, case, not options.clean, options.out) for case in chosen
        ]
        for one in awaited:
            outcome = one if isinstance(one, Outcome) else one.result()
            outcomes.append(outcome)
            if options.verbose:
                _show(outcome)
    print(_text(options.family, score(outcomes)))


def _judged(case: Case, reality: bool, out: Path | None) -> Outcome:
    outcome = judged(*case, reality=reality)
    if out is not None:
        keep(outcome, out)
    return outcome


def _show(outcome: Outcome) -> None:
    wanted = [code for fault in outcome.faults for code in ANSWERS[fault]]
    first = outcome.findings[0].code if outcome.findings else "-"
    error = price_error(outcome) if len(outcome.faults) == 1 else None
    if (first in wanted if wanted else first == "-") and (error or 0) < 0.3:
        return
    listed = ", ".join(f"{f.code} {(f.cost_ns or 0) / 1e6:.2f}" for f in outcome.findings) or "nothing"
    cost = ", ".join(f"{fault} {ns / 1e6:.2f}" for fault, ns in zip(outcome.faults, outcome.costs, strict=True))
    step = f"{outcome.step_ns / 1e6:.2f} ms"
    print(f"{outcome.job} ({outcome.format}): {cost or 'healthy'} of {step}: {listed}", flush=True)


def _text(family: str, s: Score) -> str:
    lines = [
        f"family {family}",
        f"  one fault, {s.single} jobs: named first {s.top1:.1%}, among the first three {s.top3:.1%}",
        f"  two faults, {s.pairs} jobs: first finding names one {s.pairs_first:.1%}, "
        f"first three name both {s.pairs_both:.1%}",
        f"  healthy, {s.healthy} jobs: {s.false:.2f} false findings per job",
        f"  error of the price: median {s.median_error:.1%} over {len(s.errors)} cases",
        "",
        "| fault | first finding (jobs) |",
        "|---|---|",
    ]
    for fault, codes in ANSWERS.items():
        row = {code: n for (name, code), n in s.confusion.items() if name == fault}
        if row:
            marked = [f"{'**' if code in codes else ''}{code}{'**' if code in codes else ''} {n}" for code, n in
                      sorted(row.items(), key=lambda item: -item[1])]  # fmt: skip
            lines.append(f"| {fault} | {', '.join(marked)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
