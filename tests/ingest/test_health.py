"""Each observation is made where it should be, and just misses where it should not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import Facts

_ROOT = Path(__file__).resolve().parents[2]


def codes(facts: Facts) -> dict[str, int]:
    rows = facts.trace().sql("SELECT code, count FROM health").to_pylist()
    quiet = ("events-read", "device-unknown", "steps-partial")
    return {row["code"]: row["count"] for row in rows if row["code"] not in quiet}


def usual(steps: int = 2) -> Facts:
    """Steps with an operator and a kernel each, and nothing to complain of."""
    facts = Facts()
    for number in range(steps):
        start = number * 1_000
        facts.step(number, start, 1_000)
        op = facts.host("op", "aten::mm", start + 10, 200)
        facts.row("op_inputs", event=op, shapes="[[1]]", stack="a.py(1): f")
        facts.kernel("gemm", start + 100, 300, launch=(start + 20, 10))
    track = facts.staging.track("host", process="1", thread="1")
    facts.row("raw_memory", ts=15, track=track, device=0, address=1, bytes=512, allocated=512, reserved=512)
    return facts


def test_a_healthy_recording_needs_no_words():
    facts = usual()
    facts.row("devices", device=0, name="NVIDIA H100", used=True)
    rows = facts.trace().sql("SELECT code, severity FROM health").to_pylist()
    assert rows == [{"code": "events-read", "severity": "info"}]


def test_devices_without_a_name():
    rows = usual().trace().sql("SELECT code, count FROM health").to_pylist()
    assert {"code": "device-unknown", "count": 1} in rows


def test_options_that_were_off():
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.host("op", "aten::mm", 10, 200)
    facts.kernel("gemm", 100, 300, launch=(20, 10))
    assert codes(facts) == {"options-off": 3}


def test_a_recording_of_the_host_alone():
    facts = Facts()
    facts.step(0, 0, 1_000)
    assert codes(facts) == {"no-device": 1}


def test_launches_without_any_device_work_mean_that_records_were_lost():
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.host("launch", "cudaLaunchKernel", 10, 5, correlation=3)
    assert codes(facts) == {"device-lost": 1}


def test_kernels_that_take_no_time():
    facts = usual()
    facts.kernel("empty", 700, 0, launch=(600, 10))
    facts.kernel("wait", 701, 0, kind="sync", launch=(601, 1))
    assert codes(facts) == {"duration-zero": 1}


@pytest.mark.parametrize(("dur", "severity"), [(2_000, "info"), (2_001, "warning")])
def test_what_is_shorter_than_the_clocks_tick_has_no_duration(dur: int, severity: str) -> None:
    facts = Facts()
    for number in range(4):
        facts.kernel("gemm", 10_000 * number, dur, launch=(10_000 * number, 1_000))
    facts.kernel("tiny", 90_000, 0, launch=(80_000, 1_000))
    rows = facts.trace().sql("SELECT severity, count FROM health WHERE code = 'duration-zero'").to_pylist()
    assert rows == [{"severity": severity, "count": 1}]


def test_kernels_that_overlap_on_a_stream_but_not_those_that_touch_or_run_elsewhere():
    facts = usual()
    facts.kernel("early", 350, 100, launch=(60, 5))
    facts.kernel("touching", 450, 50, launch=(65, 5))
    facts.kernel("elsewhere", 350, 100, stream="9", launch=(70, 5))
    assert codes(facts) == {"kernels-overlap": 1}


def test_kernels_without_a_launch_inside_steps_and_before_them():
    facts = usual()
    facts.kernel("orphan", 500, 10)
    facts.kernel("leaked", -500, 10)
    facts.kernel("wait", 600, 10, kind="sync")
    found = codes(facts)
    assert found["kernels-without-launch"] == 1
    assert found["warm-up-leaked"] == 1


def test_nobody_launches_what_the_driver_moves():
    facts = usual()
    moved = facts.kernel("Memcpy HtoD (Unified Memory)", 500, 10, kind="copy", stream="13")
    facts.row("copies", event=moved, direction="HtoD", bytes=65536, src_kind="managed", dst_kind="managed")
    assert "kernels-without-launch" not in codes(facts)


def test_launches_without_a_kernel_are_worth_a_warning_if_they_are_many():
    facts = usual()
    facts.host("launch", "cudaLaunchKernel", 500, 5, correlation=900)
    facts.host("sync", "cudaDeviceSynchronize", 510, 5, correlation=901)
    rows = facts.trace().sql("SELECT code, severity, count FROM health WHERE code LIKE 'launches%'").to_pylist()
    assert rows == [{"code": "launches-without-kernel", "severity": "warning", "count": 1}]


def test_setting_no_bytes_is_no_work_that_was_lost():
    facts = usual()
    for correlation in (900, 901):
        facts.host("launch", "cudaMemsetAsync", correlation, 1, correlation=correlation)
    assert "launches-without-kernel" not in codes(facts)


def test_kernels_that_start_before_their_launch():
    facts = usual()
    facts.kernel("fast", 450, 10, launch=(455, 3))
    facts.kernel("exact", 470, 10, launch=(470, 3))
    assert codes(facts) == {"kernels-before-launch": 1}


def test_device_time_in_graphs():
    facts = usual()
    correlation = facts.correlation()
    facts.host("launch", "cudaGraphLaunch", 500, 10, correlation=correlation)
    for index in range(3):
        facts.kernel(f"k{index}", 520 + 20 * index, 20, launch=correlation)
    assert codes(facts) == {"graphs-unattributed": 3}


@pytest.mark.parametrize(("numbers", "missing"), [((4, 5, 6), None), ((4, 6, 9), 3), ((7,), None)])
def test_gaps_in_the_numbers_of_steps(numbers, missing):
    facts = Facts()
    for place, number in enumerate(numbers):
        facts.step(number, place * 1_000, 1_000)
        facts.kernel("gemm", place * 1_000 + 100, 300, launch=(place * 1_000 + 20, 10))
    assert codes(facts).get("steps-missing") == missing


def test_no_steps_at_all():
    facts = Facts()
    facts.host("annotation", "once", 0, 1_000)
    facts.kernel("gemm", 100, 300, launch=(20, 10))
    assert codes(facts)["steps-none"] == 1


def test_time_that_the_profiler_took():
    facts = usual()
    facts.host("overhead", "Activity Buffer Request", 800, 150, thread="profiler")
    assert codes(facts) == {"profiler-overhead": 1}
    facts = usual()
    facts.host("overhead", "Activity Buffer Request", 800, 15, thread="profiler")
    assert codes(facts) == {}


def test_what_the_profiler_does_before_the_device_is_used_makes_no_step_longer():
    for at, expected in ((50, {}), (10_200, {"profiler-overhead": 1})):
        facts = Facts()
        facts.host("runtime", "cudaMalloc", 0, 9_000)
        facts.kernel("gemm", 10_000, 300, launch=(9_500, 10))
        facts.host("overhead", "Activity Buffer Request", at, 90, thread="profiler")
        assert {code: count for code, count in codes(facts).items() if "overhead" in code} == expected


def test_frames_left_open_but_not_those_that_were_open_all_the_time():
    facts = usual()
    facts.host("python", "main", 0, 2_000, thread="2")
    facts.host("python", "loop", 1, 1_999, thread="2")
    assert codes(facts) == {}
    facts = usual()
    facts.host("python", "main", 0, 2_000, thread="2")
    facts.host("python", "built-in f", 700, 1_300, thread="2")
    facts.host("python", "built-in g", 900, 1_100, thread="2")
    assert codes(facts) == {"frames-unclosed": 2}
    for stop in ("torch/profiler/profiler.py(811): step", "$profiler.py:271 stop_trace"):
        facts = usual()
        facts.host("python", "main", 0, 2_000, thread="2")
        facts.host("python", stop, 700, 1_300, thread="2")
        facts.host("python", "torch/cuda/__init__.py(990): synchronize", 900, 1_100, thread="2")
        assert codes(facts) == {}


def test_events_that_are_there_twice_count_once():
    facts = usual()
    correlation = facts.correlation()
    for _ in range(2):
        facts.host("launch", "cudaLaunchKernel", 500, 10, correlation=correlation)
        facts.kernel("twice", 520, 20, launch=correlation)
    trace = facts.trace()
    assert trace.scalar("SELECT count(*) FROM kernels WHERE name = 'twice'") == 1
    assert trace.scalar("SELECT count FROM health WHERE code = 'events-duplicated'") == 2
    assert trace.scalar("SELECT graph FROM kernels WHERE name = 'twice'") is None


def test_facts_about_events_that_were_dropped_are_dropped_too():
    start = 1_700_000_000 * 10**9
    facts = Facts()
    facts.host("op", "good", start, 100)
    lost = facts.kernel("lost", 0, 100, kind="copy")
    facts.row("copies", event=lost, direction="HtoD", bytes=5)
    trace = facts.trace()
    assert trace.scalar("SELECT count(*) FROM copies") == 0
    assert trace.scalar("SELECT count(*) FROM kernels") == 0


#: A code stands before a severity, or before a choice between two; words of a command go on, or end a list.
_CODE = re.compile(r"""\(?\s*"([a-z]+(?:-[a-z]+)+|truncated)",\s*(?:"(?:error|warning|info)"(?!,\s*"|\])|severity,)""")


def emitted() -> dict[str, str]:
    """Every code in the sources, with the file it is in."""
    found = {}
    for path in sorted((_ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in _CODE.finditer(text):
            found[match[1]] = path.name
    return found


def test_every_code_is_explained():
    documented = set(
        re.findall(r"^\| `([a-z-]+)` \|", (_ROOT / "docs" / "health.md").read_text(encoding="utf-8"), re.M)
    )
    found = emitted()
    assert len(found) > 30
    assert set(found) <= documented, {code: found[code] for code in set(found) - documented}


def test_nothing_is_explained_that_does_not_exist():
    documented = set(
        re.findall(r"^\| `([a-z-]+)` \|", (_ROOT / "docs" / "health.md").read_text(encoding="utf-8"), re.M)
    )
    sources = "".join(path.read_text(encoding="utf-8") for path in (_ROOT / "src").rglob("*.py"))
    assert {code for code in documented if f'"{code}"' not in sources} == set()


def test_work_that_was_queued_before_the_recording_began():
    facts = usual()
    facts.kernel("launched", 600, 10, stream="9", launch=(590, 5))
    facts.kernel("queued", 550, 10, stream="9")
    facts.kernel("lost", 620, 10, stream="9")
    found = codes(facts)
    assert found["kernels-launched-before"] == 1
    assert found["kernels-without-launch"] == 1


def test_work_on_a_queue_of_its_own_was_launched_before_if_its_id_is_lower():
    facts = Facts()
    facts.host("launch", "cudaLaunchKernel", 0, 5, correlation=11)
    facts.kernel("launched", 100, 10, launch=11)
    facts.kernel("queued", 50, 10, stream="9", launch=10)
    facts.kernel("lost", 60, 10, stream="9", launch=12)
    found = codes(facts)
    assert found["kernels-launched-before"] == 1
    assert found["kernels-without-launch"] == 1


def at_end(busy_until: int, *, later: bool = True) -> Facts:
    facts = usual()
    facts.kernel("long", 1_500, busy_until - 1_500, launch=(1_450, 5))
    for place in range(3):
        facts.host("launch", "cudaLaunchKernel", (1_600 if later else 1_050) + 10 * place, 5, correlation=900 + place)
    return facts


def test_launches_whose_work_was_still_queued_are_not_lost():
    assert codes(at_end(1_900)) == {"launches-still-queued": 3}


def test_launches_behind_the_last_work_of_an_idle_device_are_lost():
    assert codes(at_end(1_610)) == {"launches-without-kernel": 3}


def test_launches_before_others_that_ran_are_lost():
    assert codes(at_end(1_900, later=False)) == {"launches-without-kernel": 3}


def test_waits_and_loads_of_the_driver_are_not_the_profilers_time():
    facts = usual()
    facts.host("overhead", "Command Buffer Full", 800, 150, thread="profiler")
    facts.host("overhead", "Lazy Function Loading", 1_800, 150, thread="profiler")
    assert codes(facts) == {}
