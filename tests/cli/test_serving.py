"""A benchmark's result beside a recording of the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.analyses.serving.benchmark import read_benchmark
from stepscope.analyses.serving.explained import explained
from stepscope.cli.main import run
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.trace import Trace
from support import Facts, shared

RESULT = {
    "completed": 10, "total_input_tokens": 5_000, "total_output_tokens": 1_000, "max_concurrency": 4,
    "mean_ttft_ms": 1.0, "mean_tpot_ms": 0.2, "median_itl_ms": 0.15, "p99_itl_ms": 0.9,
}  # fmt: skip


def server(decode: str = "generation_2(2)") -> Trace:
    """Decode passes of 100 µs, 50 µs apart; between the second and the third a prompt of 1,000 tokens, 400 µs."""
    facts = Facts()
    passes = [(0, decode, 100), (150, decode, 100), (250, "", 400), (700, decode, 100)]
    for i, (at, answers, length) in enumerate(passes):
        name = f"context_0(0)_{answers}" if answers else "context_1(1000)_generation_0(0)"
        facts.host("annotation", f"execute_{name}", i * 20_000, 10_000)
        facts.kernel("sgemm", 100_000 + at * 1_000, length * 1_000, launch=(i * 20_000 + 1_000, 500))
    return facts.trace()


def parts(trace: Trace, **figures: Any) -> dict[tuple[str, str], int]:
    rows = explained(trace, read_benchmark(json.dumps(RESULT | figures), "result.json")).records()
    for of in {row["of"] for row in rows}:
        assert sum(row["share"] for row in rows if row["of"] == of) == pytest.approx(1)
    return {(row["of"], row["part"]): row["time_ns"] for row in rows}


def test_the_parts_of_each_figure_add_up_to_it() -> None:
    assert parts(server()) == {
        # A prompt of 500 tokens on average, at 400 µs for 1,000.
        ("ttft", "gemm"): 200_000, ("ttft", "not in the passes"): 800_000,
        # 800 µs of three passes: 300 compute, 400 prefill, 100 without work.
        ("tpot", "gemm"): 100_000, ("tpot", "prefill in between"): 133_333, ("tpot", "between passes, idle"): 33_333,
        ("tpot", "not in the passes"): -66_666,
        ("itl", "pass"): 100_000, ("itl", "gap"): 50_000, ("itl", "not in the passes"): 0,
        ("itl p99", "pass"): 100_000, ("itl p99", "prefill in between"): 400_000, ("itl p99", "gap"): 50_000,
        ("itl p99", "not in the passes"): 350_000,
    }  # fmt: skip


def test_drafts_share_a_verification_only_where_the_benchmark_says_how_many_are_accepted() -> None:
    drafted = server("generation_2(8)")
    assert ("tpot", "gemm") not in parts(drafted)
    found = parts(drafted, accept_length=2.5)
    assert found["tpot", "gemm"] == 40_000
    assert ("itl", "pass") not in found


def test_what_a_file_does_not_state_is_not_explained() -> None:
    figures = read_benchmark('{"completed": 1, "total_input_tokens": 5, "total_output_tokens": 5}', "x")
    assert explained(server(), figures).records() == []
    facts = Facts()
    facts.kernel("sgemm", 0, 100)
    with pytest.raises(MissingInputError):
        explained(facts.trace(), figures)


def test_the_last_of_several_runs_counts() -> None:
    lines = "\n".join(json.dumps(RESULT | {"completed": number}) for number in (3, 7))
    assert read_benchmark(lines + "\n", "runs.jsonl").requests == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no JSON"), ("[1]", "no JSON"), ("{}", "'completed'"), (json.dumps(RESULT | {"completed": 0}), "no request"),
     (json.dumps(RESULT | {"total_input_tokens": "many"}), "'total_input_tokens'")],
)  # fmt: skip
def test_other_files_are_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_benchmark(text, "x.json")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = shared("cases/kineto/mi300_sglang_decode")
    result = tmp_path / "result.json"
    result.write_text(json.dumps(RESULT | {"mean_tpot_ms": 12.0}), encoding="utf-8")
    assert run(["serving", str(recording), "--benchmark", str(result)]) == 0
    table = capsys.readouterr().out.partition("TPOT, mean: 12.0 ms")[2].splitlines()
    assert table[1].split() == ["part", "time", "of", "it"]
    assert table[2].split() == ["gemm", "5.78", "ms", "48.2", "%"]
    assert " not in the passes  1.55 ms  12.9 %" in table
    assert run(["serving", str(recording), "--benchmark", str(result), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["served_latency"]
    assert sum(row["time_ns"] for row in rows if row["of"] == "tpot") == 12_000_000
    assert run(["serving", str(recording), "--benchmark", str(result), "--lang", "zh"]) == 0
    assert "不在前向之中" in (shown := capsys.readouterr().out)
    assert "passes" not in shown
    assert run(["serving", str(recording), "--benchmark", str(tmp_path / "none.json")]) == 2
    assert "can't be read" in capsys.readouterr().err
