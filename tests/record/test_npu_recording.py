"""`stepscope record` on a job with NPUs, which torch_npu's profiler records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from record_support import SOURCES, Recorded
from stepscope.ingest import Options, open_trace

HERE = Path(__file__).parent
TRAIN = """
import sys
import torch, torch_npu
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
for step, batch in enumerate(DataLoader(range(8))):
    torch_npu.npu.init()
    torch.cuda.memory.allocate(1 << 20)
    optimizer.step()
    if step == {ends}: sys.exit(4)
given = torch_npu.profiler.profiler.GIVEN
print(given["activities"], given["with_stack"], given["experimental_config"].given["profiler_level"])
"""


def record(folder: Path, *options: str, ends: int = -1) -> Recorded:
    """Record steps 3 and 4, in a job of eight ranks of which this is the fourth."""
    (folder / "program.py").write_text(TRAIN.format(ends=ends))
    command = [sys.executable, "-m", "stepscope", "record", "--no-machine", "-o", "out", "--no-stacks"]
    command += ["--steps", "3:5", *options]
    paths = os.pathsep.join(map(str, (SOURCES, HERE / "fakes", HERE / "fakes_npu")))
    done = subprocess.run(
        [*command, "--", sys.executable, "program.py"],
        capture_output=True, text=True, cwd=folder, timeout=60,
        env={**os.environ, "PYTHONPATH": paths, "RANK": "3", "WORLD_SIZE": "8"},
    )  # fmt: skip
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


def test_the_profiler_of_the_npu_records(tmp_path: Path) -> None:
    recorded = record(tmp_path, "--no-report", "--memory")
    assert recorded.status == 0, recorded.errors
    assert recorded.output == "history all\nhistory None\n['CPU', 'NPU'] False Level1\n"
    [folder] = recorded.folder.glob("*_ascend_pt")
    assert folder.name.startswith("rank3_")
    assert folder.name.endswith("_ascend_pt")
    assert "recorded steps 3 to 4 (steps are updates by the optimizer) of rank 3" in recorded.errors
    assert str(folder) in recorded.errors
    with open_trace(recorded.folder, Options(cache=False)) as trace:
        assert trace.ranks == (3,)
        assert [row["number"] for row in trace.rows("SELECT number FROM steps ORDER BY 1")] == [3, 4]
        assert trace.rows("SELECT count(*) AS n FROM kernels")[0]["n"] > 0
        # The history of the NPU's allocator is the same rank's.
        assert trace.rows("SELECT count(*) AS n FROM allocator_events WHERE action = 'alloc'")[0]["n"] == 5


def test_what_a_job_that_ends_leaves_is_parsed_later(tmp_path: Path) -> None:
    recorded = record(tmp_path, ends=3)
    assert recorded.status == 4
    [folder] = recorded.folder.iterdir()
    assert not list(folder.iterdir())
    # The diagnosis can't be made, and says so; the exit status is the program's all the same.
    assert recorded.errors.count("stepscope: ") == 3
    assert f"is not parsed (the program ended); run stepscope parse-ascend {folder}" in recorded.errors
