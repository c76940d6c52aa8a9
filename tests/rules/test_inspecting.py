"""The command that looks inside a kernel: for whose devices, with which name, at which launch."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.model.program import Program
from stepscope.rules.inspecting import command
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.shared.program import program
from support import Facts

US = 1000
FLASH = "void flash_fwd_kernel<Traits<128, 64>, true>(Params)"


def launched(*names: str) -> tuple[Facts, list[int]]:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    return f, [f.kernel(n, (100 + 50 * i) * US, 40 * US, launch=(i * US, 500)) for i, n in enumerate(names)]


def said(f: Facts, event: int, told: Program, code: str = "KRN015") -> str:
    draft = Draft(title="", summary="", actions=(), events=np.array([event]))
    signals = Signals(0, {program: told}, f.trace())
    return command(all_rules()[code], draft, signals)


def test_launches_of_the_same_function_are_counted() -> None:
    f, events = launched(FLASH, "other", FLASH.replace("true", "false"), FLASH)
    told = Program(platform="cuda", language="python", framework="pytorch")
    assert said(f, events[3], told) == (
        "ncu --set full --kernel-name 'regex:^flash_fwd_kernel$' --launch-skip 2 --launch-count 1 -o kernel "
        "python program.py"
    )


def test_kernels_of_one_launch_are_counted_in_the_order_in_which_they_run() -> None:
    f = Facts()
    shared = f.correlation()
    f.host("launch", "cudaGraphLaunch", 0, 50, correlation=shared)
    events = [f.kernel(FLASH, (100 + 50 * i) * US, 40 * US, launch=shared) for i in range(4)]
    told = Program(platform="cuda", language="python", framework="pytorch")
    assert [said(f, events[1], told).split("--launch-skip ")[1][0]] == ["1"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            Program(platform="rocm", executable="solver"),
            "rocprof-compute profile -n kernel -k Cijk_Alik_Bljk_BBS -d 2 -- solver",
        ),
        (
            Program(platform="npu", framework="pytorch"),
            "msprof op --kernel-name=Cijk_Alik_Bljk_BBS --launch-count=2 --output=./kernel python program.py",
        ),
        (
            Program(platform="npu", executable="python3"),
            "msprof op --kernel-name=Cijk_Alik_Bljk_BBS --launch-count=2 --output=./kernel python3 program.py",
        ),
        (Program(platform="xpu"), ""),
    ],
)
def test_each_vendor_has_a_command_of_its_own(told: Program, expected: str) -> None:
    f, events = launched("Cijk_Alik_Bljk_BBS", "Cijk_Alik_Bljk_BBS")
    assert said(f, events[1], told) == expected


def test_a_name_that_the_recorder_cut_is_matched_by_its_beginning() -> None:
    f, [event] = launched("__omp_offloading_31_main...")
    assert "'regex:^__omp_offloading_31_main' " in said(f, event, Program(platform="cuda"))


def test_a_graph_that_is_recorded_as_a_whole_is_no_kernel() -> None:
    f, events = launched("CUDA graph 1")
    assert said(f, events[0], Program(platform="cuda")) == ""


def test_findings_about_other_things_have_none() -> None:
    f, [event] = launched(FLASH)
    signals = Signals(0, {program: Program(platform="cuda")}, f.trace())
    kernel, operator, nothing = (Draft("", "", (), events=np.array(at, np.int64)) for at in ([event], [0], []))
    assert command(all_rules()["KRN015"], kernel, signals)
    assert command(all_rules()["HST001"], kernel, signals) == ""
    assert command(all_rules()["KRN015"], operator, signals) == ""
    assert command(all_rules()["KRN015"], nothing, signals) == ""
    assert command(all_rules()["KRN015"], kernel, Signals(0, signals.given)) == ""


def test_launches_before_the_typical_steps_count() -> None:
    f, [_, event] = launched(FLASH, FLASH)
    whole = f.trace()
    typical = narrowed(whole, Filter(since=150 * US))
    draft = Draft("", "", (), events=np.array([event]))
    signals = Signals(0, {program: Program(platform="cuda")}, typical, _whole=Signals(0, _trace=whole))
    assert "--launch-skip 1 " in command(all_rules()["KRN015"], draft, signals)
