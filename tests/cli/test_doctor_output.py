"""What `stepscope doctor` prints."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from rich.cells import cell_len

from stepscope.cli.main import run
from stepscope.cli.recording import doctor_output as output
from stepscope.doctor.check import Advice, Check
from stepscope.doctor.examine import CHECKS, Findings

MADE = Check("made", "", "", lambda _: None)
FINDINGS = Findings(
    (
        (MADE, Advice("error", "CUDA_LAUNCH_BLOCKING=1", "the host waits for every kernel, all of them", "unset it")),
        (MADE, Advice("info", "A=\x1b[31mred", "it shows", "leave it")),
    ),
    (MADE,),
    (MADE, MADE),
)
SHOWN = f"""\
1 error, 1 info; 1 of {len(CHECKS)} checks found nothing, 2 lacked facts

error    CUDA_LAUNCH_BLOCKING=1
         the host waits for every kernel,
         all of them
       → unset it

info     A=\\x1b[31mred
         it shows
       → leave it

unknown  made, made
"""


def test_the_text_at_a_fixed_width() -> None:
    assert output.text(FINDINGS, 42) == SHOWN


def test_nothing_to_change() -> None:
    assert output.text(Findings((), (MADE,), ())) == (
        f"nothing to change; 1 of {len(CHECKS)} checks found nothing, 0 lacked facts\n"
    )


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    assert run(["doctor", "--json", "--", "false", "--json"]) == 0
    told: Any = json.loads(capsys.readouterr().out)
    assert told["schema"] == "stepscope.doctor/1"
    assert {"check": "debug-switches", "level": "error", "what": "CUDA_LAUNCH_BLOCKING=1"}.items() <= told["advice"][
        0
    ].items()
    assert len(told["fine"]) > 5
    assert run(["doctor"]) == 0
    assert "error    CUDA_LAUNCH_BLOCKING=1\n" in capsys.readouterr().out


def test_the_command_in_chinese(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("HCCL_RDMA_TC", "3")
    assert run(["--lang", "zh", "doctor"]) == 0
    told = capsys.readouterr().out
    assert "错误     CUDA_LAUNCH_BLOCKING=1\n         主机等待每个 kernel" in told
    assert "→ 请给出 0 到 252 之间 4 的倍数：DSCP 乘以 4\n" in told
    assert re.findall(r"(?<![\w.:/\-`])[A-Za-z]?[a-z]+(?:,? [a-z]+){3}", told.partition("未知")[0]) == []
    assert max(map(cell_len, told.splitlines())) <= 100
