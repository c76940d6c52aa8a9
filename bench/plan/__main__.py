"""`python -m bench.plan [FILE]`: predictions against published configurations, written to `docs/plan-benchmark.md`.

FILE has rows as `bench.plan.rows` reads them; if it is not given, the one beside the checkout.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.plan.fifth import fifth_set
from bench.plan.fourth import fourth_set
from bench.plan.page import page, second_page
from bench.plan.rows import asked
from bench.plan.second import second_set
from bench.plan.third import third_set

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Judge every row and write the page."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "reference" / "planner-published.json"
    rows = [asked(row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    further = [asked(row) for row in second_set()]
    third = [asked(row) for row in third_set()]
    fourth = [asked(row) for row in fourth_set()]
    fifth = [asked(row) for row in fifth_set()]
    text = page(rows, further, third, fourth, fifth)
    (ROOT / "docs" / "plan-benchmark.md").write_text(text, encoding="utf-8")
    (ROOT / "docs" / "plan-benchmark-second.md").write_text(
        second_page(further, third, fourth, fifth), encoding="utf-8"
    )
    print("\n## ".join(text.split("\n## ")[:2]))


if __name__ == "__main__":
    main()
