"""The mistakes that `bench.mutants` makes, in small: which there are, who covers a file, and that tests notice them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench.mutants.covering import covering
from bench.mutants.mutants import mutants, sample

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "stepscope"
SMALL = '''"""A sum of 1 + 1."""
LIMIT: dict[str | None, int] = dict(zip((), (), strict=True))


def late(ts: int | None, end: int) -> bool:
    return ts is not None and not ts + 5 <= end and bool(f"{ts + 1}")
'''


def test_every_expression_that_is_computed_has_its_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    found = mutants(path)
    assert {(one.before, one.after) for one in found} == {
        ("ts is not None and (not ts + 5 <= end) and bool(f'{ts + 1}')",
         "ts is not None or not ts + 5 <= end or bool(f'{ts + 1}')"),
        ("ts is not None", "ts is None"),
        ("not ts + 5 <= end", "ts + 5 <= end"),
        ("ts + 5 <= end", "ts + 5 < end"),
        ("ts + 5", "ts - 5"),
        ("5", "-5"),
    }  # fmt: skip
    for one in found:
        compile(one.text, str(path), "exec")
        assert one.text.splitlines()[:5] == SMALL.splitlines()[:5]


def test_a_seed_is_one_sample_and_a_shorter_one_begins_it(tmp_path: Path) -> None:
    for layer in ("signals", "analyses", "rules"):
        shutil.copytree(SOURCE / layer / "copies", tmp_path / layer / "copies")
    chosen = sample(tmp_path, 30, 4)
    assert len(chosen) == 30
    assert chosen[:10] == sample(tmp_path, 10, 4)
    assert {one.path.relative_to(tmp_path).parts[0] for one in chosen} == {"signals", "analyses", "rules"}


def test_what_is_named_after_a_file_covers_it_first() -> None:
    rounds = covering(SOURCE / "rules" / "copies" / "small_copies.py", SOURCE, ROOT / "tests")
    assert rounds[0] == [ROOT / "tests" / "rules" / "copies" / "test_small_copies.py"]
    assert ROOT / "tests" / "rules" / "copies" / "test_pageable_copies.py" in rounds[1]


@pytest.mark.skipif(sys.platform == "win32", reason="tests are forked")
def test_a_mistake_is_noticed_by_the_test_that_fails(tmp_path: Path) -> None:
    path, test = tmp_path / "small_for_mutants.py", tmp_path / "test_small.py"
    path.write_text(SMALL)
    test.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        "from small_for_mutants import late\n\n\ndef test_late():\n    assert late(9, 8)\n    assert not late(3, 8)\n"
    )
    noticed = ("ts is None", "ts + 5 < end", "ts is not None or not ts + 5 <= end or bool(f'{ts + 1}')")
    # A process that has read a recording has threads, which a forked one would lack.
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom bench.mutants.mutants import Mutant, mutants\n"
        "from bench.mutants.trial import failing\npath, test = Path(sys.argv[1]), sys.argv[2]\n"
        "verdicts = {one.after: failing(one, [test]) for one in mutants(path) if one.after in sys.argv[3:]}\n"
        "broken = failing(Mutant(path, 1, '', '', 'nothing that can be read ('), [test])\n"
        "print(json.dumps([verdicts, failing(None, [test]), broken]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(test), *noticed],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdicts, plain, broken = json.loads(done.stdout)
    assert plain is None
    assert set(verdicts) == set(noticed)
    for after in noticed:
        assert verdicts[after].endswith("test_small.py::test_late"), after
    assert broken == "stops the collection"
