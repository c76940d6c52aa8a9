"""The section on phases: what it can't know has no figure."""

from __future__ import annotations

from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.markdown import text as markdown
from support import Facts

US = 1000


def page(f: Facts) -> str:
    return markdown(build_report(f.trace(reader="nsight"), ReportOptions(page=True)))


def test_a_phase_that_shows_by_its_kernels_alone_has_no_host_time() -> None:
    f = Facts()
    for i in range(4):
        at = 1000 * US * i
        f.host("annotation", "step", at, 900 * US)
        f.host("annotation", "Forward", at + 10 * US, 300 * US)
        f.kernel("gemm", at + 20 * US, 200 * US, launch=(at + 15 * US, 2 * US))
        f.host("annotation", "Backward", at + 320 * US, 300 * US)
        f.kernel("gemm_backward", at + 330 * US, 200 * US, launch=(at + 325 * US, 2 * US))
        f.kernel("multi_tensor_apply_kernel<FusedAdam>", at + 700 * US, 100 * US, launch=(at + 650 * US, 2 * US))
    rows = page(f).partition("Phases")[2].splitlines()
    row = next(line for line in rows if line.startswith("| optimizer"))
    assert [cell.strip() for cell in row.split("|")][-3] == "–"


def test_shares_are_of_the_time_where_there_is_no_step() -> None:
    f = Facts()
    f.host("annotation", "Forward", 0, 300 * US)
    f.kernel("gemm", 20 * US, 200 * US, launch=(15 * US, 2 * US))
    f.host("annotation", "Backward", 320 * US, 300 * US)
    f.kernel("gemm_backward", 330 * US, 200 * US, launch=(325 * US, 2 * US))
    head = next(line for line in page(f).partition("Phases")[2].splitlines() if line.startswith("|"))
    assert ("of the time" in head, "of the step" in head) == (True, False)
