from __future__ import annotations

import io

import pytest
from rich.console import Console

from report_support import HOSTILE, sample_report
from stepscope.reports import terminal

EXPECTED = """\
run/trace.json
Device X · rank 0 of 2 · 1,234 events

Health ───────────────────────────────────────────────────────── 1 error, 1 note
 ✗ the recording gemm ends early → sums are too low
 · 12 events were renamed

Findings ───────────────────── prices are estimated savings of a step of 9.00 ms
 1  The step waits for gemm            DAT001  1.50 ms per step, 16.7 %, 2 ranks
    1.50 ms go to gemm.
    → Load gemm in worker processes
      - DataLoader(data)
      + DataLoader(data,
      +   num_workers=8)
    also explains: idle gemm
    stepscope rules DAT001 · stepscope rules loading

 2  Shapes were not recorded                                      REC001  advice
    Nobody knows.
    → Record shapes
    stepscope rules REC001

Where the time went ──────────────────────────────────────────────────── 2 steps
                                                 compute    comm    copy    idle
 step 0    10.0 ms  █████████████████▓▓▓▒·······  60.0 %  10.0 %   5.0 %  25.0 %
 step 1    8.00 ms  ████████████████▓▓▓···        75.0 %  12.5 %   0.0 %  12.5 %
 mean      9.00 ms  ████████████████▓▓▓▒·····     66.7 %  11.1 %   2.8 %  19.4 %
                   █ compute   ▓ exposed communication   ▒ exposed copy   · idle

Why idle ────────────────────────────────── 1.75 ms of 9.00 ms per step (19.4 %)
 cause          per step  of the step                gaps
 data wait       1.50 ms       16.7 %  ██             1.0
 host dispatch    250 µs        2.8 %  ▍              4.0
   python         200 µs        2.2 %                 1.5
   op overhead   50.0 µs        0.6 %                 2.5

What ran ─────────────────────────────────────────── sums of the whole recording
 Kernels  total µs     %                count  mean µs  min µs  max µs
 gemm      2,000.0  66.7  ████████          4   500.00  100.00  800.00
 add       1,000.0  33.3  ████              4   250.00  100.00  400.00

Not computed ────────────────────────────────────────── what to record next time
 · copies: nothing was copied → record a job that copies
"""


def shown(width: int = 80, **console: object) -> str:
    out = io.StringIO()
    terminal.write(sample_report(), out, width=width)
    return out.getvalue()


def test_exact_output_at_80_columns() -> None:
    assert shown() == EXPECTED


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = shown(width).splitlines()
    assert max(map(len, lines)) <= min(width, 200)
    assert not any(line != line.rstrip() for line in lines)


def test_a_terminal_that_knows_only_ascii() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")
    terminal.write(sample_report(), out, width=80)
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert "####" in text
    assert " E the recording gemm ends early" in text


def test_colour_only_where_there_is_a_terminal() -> None:
    assert "\x1b" not in shown()
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=80, color_system="truecolor").print(
        terminal.renderable(sample_report())
    )
    assert "\x1b[" in out.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("value", "plain"), [("1", True), ("", False)])
def test_no_escapes_where_no_color_is_set(monkeypatch: pytest.MonkeyPatch, value: str, plain: bool) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm-256color")
    out = Terminal()
    terminal.write(sample_report(), out, width=80)
    assert ("\x1b" not in out.getvalue()) == plain


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [40, 120])
def test_hostile_names_are_harmless(name: str, width: int) -> None:
    out = io.StringIO()
    terminal.write(sample_report((name, "add"), source=f"run/{name}.json"), out, width=width)
    text = out.getvalue()
    assert not set(text) & {"\x1b", "\x9b", "\x07", "\x00", "\r", "\t", "\u202e", "\u2066", "\u200b", "\ufeff"}
    assert "Not computed" in text


def test_many_steps_are_shown_by_the_telling_ones() -> None:
    from report_support import BUDGET
    from stepscope.model.table import Table

    report = sample_report()
    rows = [(0, 0, step, 1000 + step, 500, 0, 0, 500 + step, True, None) for step in range(101)]
    tables = {"step_budget": Table.from_rows(BUDGET, rows)}
    out = io.StringIO()
    terminal.write(type(report)(report.sources, (), report.ranks, tables), out, width=100)
    text = out.getvalue()
    assert "fastest, step 0 " in text
    assert "median, step 50 " in text
    assert "slowest, step 100" in text
    assert text.count("1.05 µs") == 2
    assert "101 steps" in text
