"""Whatever is left of killed programs, and of full disks, opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from record_support import HAS_TORCH, record
from stepscope.ingest import Options, open_trace

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


def test_twenty_kills_at_random_moments_leave_what_opens(tmp_path: Path) -> None:
    recorded = record(tmp_path, "killed.py", options=["--steps", "20:60", "--no-stacks"])
    assert recorded.status == 0, recorded.errors
    left = sorted(recorded.folder.glob("*.json"))
    partial = 0
    for path in left:
        with open_trace(path, Options(cache=False)) as trace:
            partial += bool(trace.rows("SELECT 1 FROM health WHERE code = 'recording-partial'"))
            assert trace.rows("SELECT id FROM events LIMIT 1")
    # How many are whole depends on how fast the machine is.
    assert 0 < partial <= len(left) <= 20, (partial, len(left))


def test_the_last_words_of_an_interrupted_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal, torch\n"
        "model = torch.nn.Linear(4, 4); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for step in range(30):\n"
        "    model(torch.randn(2, 4)).sum().backward(); optimizer.step()\n"
        "    if step == 12: os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    recorded = record(tmp_path, str(program))
    assert recorded.status == 143
    with open_trace(recorded.folder, Options(cache=False)) as trace:
        steps = trace.rows("SELECT number FROM steps ORDER BY number")
        [line] = trace.rows("SELECT message FROM health WHERE code = 'recording-partial'")
    assert [step["number"] for step in steps][:2] == [10, 11]
    assert line["message"] == "the recording is not whole: the program was terminated"
