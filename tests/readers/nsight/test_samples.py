"""Samples of processors become stacks of functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import check_invariants, open_fresh
from readers.nsight.database import Export, global_tid
from stepscope.readers.nsight.samples import function


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("hydro(global_variables&, parallel_&)", "/bin/clover", "hydro"),
        ("void clover::par_2<256ul, f<(a > 1)> >(clover::Range2d const&, char const*)", "/bin/c", "clover::par_2"),
        ("at::Tensor& at::native::(anonymous namespace)::fill_<float>(at::Tensor&) const", "libtorch.so",
         "at::native::(anonymous namespace)::fill_"),
        ("assemble_matrix_", "/bin/solver", "assemble_matrix_"),
        (None, "/usr/lib64/libcuda.so.525.105.17", "libcuda.so"),
        (None, "/usr/lib/libscipy_openblas64_-8fb3d286.so", "libscipy_openblas64_.so"),
        ("0x7f72b44bf900", r"C:\Windows\nvcuda.dll", "nvcuda.dll"),
        ("_PyEval_EvalFrameDefault", "/opt/bin/python3.12", "Python"),
        ("[Broken backtraces]", "[Broken backtraces]", ""),
        ("0xffffffff81252feb", "[kernel.kallsyms]", ""),
        (None, None, ""),
    ],
)  # fmt: skip
def test_how_a_frame_is_called(name: str | None, file: str | None, said: str) -> None:
    assert function(name, file) == said


def _export(path: Path, *, samples: bool = True) -> Path:
    export = Export()
    export.call("cudaLaunchKernel", 1_000, 2_000, 1)
    export.kernel("work(int)", 3_000, 4_000, 1)
    for number, tid in enumerate((None, 99)):  # the second thread calls nothing
        export.row("COMPOSITE_EVENTS", id=number, start=5_000 + number, globalTid=global_tid(7, tid), cpu=0)
        frames = (("0x12345678", "/lib/libm.so.6", 1), ("0x12345699", "/lib/libm.so.6", 1),
                  ("solve(double*)", "/bin/a", 0), ("main", "/bin/a", 0), ("[Max depth]", "", 0))  # fmt: skip
        for depth, (symbol, module, unresolved) in enumerate(frames if samples else ()):
            export.row("SAMPLING_CALLCHAINS", id=number, symbol=export.text(symbol), module=export.text(module),
                       unresolved=unresolved, stackDepth=depth)  # fmt: skip
    return export.sqlite(path)


def test_stacks_of_threads_that_call_something_are_kept_innermost_first(tmp_path: Path) -> None:
    trace = open_fresh(_export(tmp_path / "a.sqlite"))
    check_invariants(trace)
    track = trace.scalar("SELECT track FROM events WHERE category = 'launch'")
    assert trace.rows("SELECT ts, track, stack FROM samples") == [
        {"ts": 4_000, "track": track, "stack": "libm.so;solve;main"}
    ]


def test_samples_without_stacks_are_none(tmp_path: Path) -> None:
    assert open_fresh(_export(tmp_path / "a.sqlite", samples=False)).rows("SELECT * FROM samples") == []
