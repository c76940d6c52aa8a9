"""The page of a trial at a fixed width, and its JSON."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from rich.cells import cell_len

from stepscope.cli.trying.page import outline
from stepscope.language import speaking
from stepscope.reports import terminal
from stepscope.trying.recorded import NamedFinding
from stepscope.trying.registry import all_remedies
from stepscope.trying.result import Tried, TriedRemedy
from stepscope.trying.verdicts import measured
from stepscope.trying.writing import ToWrite
from trying_support import run, runs

PAGE = """\
What helps
python train.py · output of the runs: /out

Tried ──────────────────────────────────────────────────────────── saved per step; intervals of 99 %
 · unchanged: 100 ms per step on cpu, mean of 8 runs, which differ by 1.0 %; load 0.2 to 1.9 on 2
   cores

 remedy           rule    predicted ms  measured   from     to  of the step  verdict
 fused-optimizer  HST008         30.00     20.00  17.62  22.38       20.0 %  helps
 gc-freeze        –                  –         –      –      –            –  failed
 · fused-optimizer: in 2 earlier trials the median of measured over predicted was 0.60

Why ────────────────────────────────────────────────────────────────────────────────────────────────
 · fused-optimizer: helps → saves 20.0 % of the step (between 17.6 % and 22.4 %); losses within
   0.10 % and gradient norms within 1.00 %
 ▲ gc-freeze: failed → runs out of memory

Together ───────────────────────────────────────────────────────────────────────────────────────────
 · fused-optimizer: 80.0 ms instead of 100 ms per step → saves 20.0 % of the step (between 17.6 %
   and 22.4 %); losses within 0.10 % and gradient norms within 1.00 %

What to write ──────────────────────────────────────────────────────────────────────────────────────
 · train.py:7
 · - Adam(p)
 · + Adam(p, fused=True)

Also ───────────────────────────────────────────────────────────────────────────────────────────────
 · 1 file written outside: a
"""

CHINESE = """\
什么有帮助
python train.py · 各次运行的输出：/out

已尝试 ───────────────────────────────────────────────────────────── 每个 step 节省的时间；99 % 区间
 · 未改动：cpu 上每个 step 100 ms，8 次运行的平均值，相差 1.0 %；2 个核上的负载 0.2 至 1.9

 优化措施         规则    预测 ms   实测   下限   上限  占 step  结论
 fused-optimizer  HST008    30.00  20.00  17.62  22.38   20.0 %  有效
 gc-freeze        –             –      –      –      –        –  已失败
 · fused-optimizer：在 2 次之前的试验中，测量值与预测值之比的中位数为 0.60

原因 ───────────────────────────────────────────────────────────────────────────────────────────────
 · fused-optimizer：有效 → 节省 step 的 20.0 %（17.6 % 至 22.4 %）；损失值相差在 0.10 % 以内和梯
   度范数相差在 1.00 % 以内
 ▲ gc-freeze：已失败 → 内存不足

"""


def tried() -> Tried:
    fused, freeze = all_remedies()["fused-optimizer"], all_remedies()["gc-freeze"]
    helps = measured(runs([100e6] * 4), runs([80e6, 81e6, 79e6, 80e6], "fused-optimizer"), [fused])
    failed = measured(runs([100e6]), [run(0, "gc-freeze", why="runs out of memory")], [freeze])
    lines = ToWrite("fused-optimizer", ("train.py:7", "- Adam(p)", "+ Adam(p, fused=True)"))
    return Tried(
        ["python", "train.py"], Path("/out"), 100_000_000, 8, 20, 0.01, "optimizer", 1, "cpu",
        [NamedFinding("HST008", "The optimizer updates tensors one by one", 0.3, True)],
        [TriedRemedy(fused.name, fused.title, "HST008", 30_000_000, helps, lines, (0.5, 0.7)),
         TriedRemedy(freeze.name, freeze.title, "", None, failed, ToWrite(freeze.name, ()))],
        ["fused-optimizer"], helps, [lines], ["1 file written outside: a"], True, (0.2, 1.9), 2,
    )  # fmt: skip


def test_the_page() -> None:
    out = io.StringIO()
    terminal.write_page(outline(tried()), out, width=100)
    assert out.getvalue() == PAGE


def test_columns_of_the_page_line_up_in_chinese() -> None:
    out = io.StringIO()
    with speaking("zh"):
        terminal.write_page(outline(tried()), out, width=100)
    assert out.getvalue().startswith(CHINESE)
    rows = [line for line in CHINESE.splitlines() if "  " in line.strip()]
    assert len({cell_len(line[: re.search(r"\S+$", line).start()]) for line in rows}) == 1  # type: ignore[union-attr]


def test_the_json() -> None:
    found = json.loads(json.dumps(tried().to_json(), allow_nan=False))
    assert found["schema"] == "stepscope.try/1"
    assert found["base"]["step_ns"] == 100_000_000
    first, second = found["remedies"]
    assert {name: first[name] for name in ("name", "rule", "predicted_ns", "measured_ns", "verdict")} == {
        "name": "fused-optimizer", "rule": "HST008", "predicted_ns": 30_000_000, "measured_ns": 20_000_000,
        "verdict": "helps",
    }  # fmt: skip
    assert first["low_ns"] < 20_000_000 < first["high_ns"]
    assert (second["rule"], second["measured_ns"], second["low_ns"], second["verdict"], second["why"]) == (
        None, None, None, "failed", "runs out of memory",
    )  # fmt: skip
    assert found["together"]["names"] == ["fused-optimizer"]
    assert found["together"]["write"] == ["train.py:7", "- Adam(p)", "+ Adam(p, fused=True)"]


def test_nothing_that_helps_and_nothing_that_runs() -> None:
    for one in (Tried(["a"], Path("/o")), Tried(["a"], Path("/o"), base_ns=1, cores=1)):
        out = io.StringIO()
        terminal.write_page(outline(one), out, width=80)
        assert "What helps" in out.getvalue()
        assert one.to_json()["together"]["verdict"] == "no gain"
