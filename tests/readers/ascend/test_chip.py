"""Which chip ran the kernels: from counters, the profiler's description, or what the user states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import at, write_csv

from readers.conformance import open_fresh
from stepscope.analyses.registry import analyses
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob, simulate
from stepscope.store.stated import StatedDevice

CUBE, VECTOR = "AI_CORE", "AI_VECTOR_CORE"


def kernel(
    n: int,
    blocks: int,
    cores: int,
    megahertz: float,
    *,
    core: str = CUBE,
    us: float = 100.0,
    used: bool = True,
    **more: Any,
) -> dict[str, str]:
    """A row of `kernel_details.csv` as a chip with so many AI cores at this clock would have it."""
    units = cores * (2 if core == VECTOR else 1)
    rounds = -(-blocks // units)
    cycles = round(us * megahertz * blocks / rounds)
    prefix = "aiv" if core == VECTOR else "aic"
    counters = {
        "aicore_time(us)": "0", "aic_total_cycles": "0", "aiv_time(us)": "0", "aiv_total_cycles": "0",
        f"{'aiv' if core == VECTOR else 'aicore'}_time(us)": f"{us:.3f}", f"{prefix}_total_cycles": f"{cycles}",
    }  # fmt: skip
    if used:
        share = 0.0 if core == VECTOR else cycles / (megahertz * cores * us)
        counters["cube_utilization(%)"] = f"{100 * share:.3f}"
    row = {
        "Name": f"aclnnMm{n}_MatMulV2", "Type": "MatMulV2", "Accelerator Core": core,
        "Start Time(us)": f"{at(n * 1_000)}\t",
        "Duration(us)": f"{us:.3f}", "Wait Time(us)": "0", "Block Dim": f"{blocks}", **counters,
    }  # fmt: skip
    return {**row, **more}


def described(folder: Path, rows: list[dict[str, str]]) -> dict[str, Any]:
    write_csv(folder / "kernel_details.csv", rows)
    with open_fresh(folder / "kernel_details.csv") as trace:
        [found] = trace.rows("SELECT name, sms, clock_hz, memory_bytes, known_by FROM devices")
    return found


def test_utilisation_and_time_give_cores_and_clock(tmp_path: Path) -> None:
    found = described(
        tmp_path, [kernel(0, 20, 20, 1800), kernel(1, 16, 20, 1800), kernel(2, 40, 20, 1800, core=VECTOR)]
    )
    assert (found["name"], found["sms"], found["clock_hz"]) == ("Ascend 910B3", 20, 1_800_000_000)
    assert found["memory_bytes"] == 64 << 30
    assert found["known_by"] == "20 AI cores at 1,800 MHz, from the counters of 2 kernels"


def test_a_chip_of_no_known_variant_has_rates_but_no_memory(tmp_path: Path) -> None:
    found = described(tmp_path, [kernel(n, 20, 20, 1650) for n in range(3)])
    assert (found["name"], found["memory_bytes"]) == ("Ascend NPU, 20 AI cores at 1,650 MHz", None)


def test_variants_that_share_cores_and_clock_share_what_they_have_in_common(tmp_path: Path) -> None:
    found = described(tmp_path, [kernel(0, 24, 24, 1850)])
    assert (found["name"], found["memory_bytes"]) == ("Ascend NPU, 24 AI cores at 1,850 MHz", 64 << 30)
    # With 32 or 64 GiB: neither is said.
    assert described(tmp_path, [kernel(0, 20, 20, 1500)])["memory_bytes"] is None


@pytest.mark.parametrize("blocks", [24, 48, 256])
def test_without_utilisation_full_or_repeated_use_of_the_cores_tells_a_known_chip(tmp_path: Path, blocks: int) -> None:
    rows = [kernel(n, blocks, 24, 1800, used=False) for n in range(3)]
    found = described(tmp_path, rows)
    assert (found["name"], found["sms"]) == ("Ascend 910B2", 24)


def test_kernels_that_use_a_part_of_the_cores_do_not_tell_how_many_there_are(tmp_path: Path) -> None:
    assert described(tmp_path, [kernel(n, 16, 24, 1800, used=False) for n in range(3)])["name"] is None


def test_counters_that_contradict_each_other_tell_nothing(tmp_path: Path) -> None:
    rows = [kernel(n, 20, 20, 1800, **{"cube_utilization(%)": f"{10 * (n + 3)}.000"}) for n in range(3)]
    rows += [kernel(n, 20, 20, 1333, used=False) for n in range(3, 6)]
    assert described(tmp_path, rows)["name"] is None


def test_the_profilers_own_description_comes_first(tmp_path: Path) -> None:
    raw = tmp_path / "PROF_1" / "device_0"
    raw.mkdir(parents=True)
    info = {"DeviceInfo": [{"id": 0, "ai_core_num": 20, "aic_frequency": "1500", "aiv_num": 40}]}
    (raw / "info.json.0").write_text(json.dumps(info))
    output = tmp_path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir()
    write_csv(output / "kernel_details.csv", [kernel(0, 24, 24, 1800)])
    with open_fresh(tmp_path) as trace:
        [found] = trace.rows("SELECT sms, clock_hz, known_by FROM devices")
    assert found == {"sms": 20, "clock_hz": 1_500_000_000, "known_by": "20 AI cores at 1,500 MHz, by info.json"}
    (raw / "info.json.0").write_text('{"DeviceInfo": [{"ai_core_num": "many"}]}')
    with open_fresh(tmp_path) as trace:
        assert trace.scalar("SELECT sms FROM devices") == 24


def stated(path: Path, device: str | None, memory: str | None) -> Trace:
    return open_trace(path, Options(cache=False, stated=StatedDevice.of(device, memory)))


def test_what_users_state_takes_the_place_of_what_is_derived(tmp_path: Path) -> None:
    path = tmp_path / "kernel_details.csv"
    write_csv(path, [kernel(0, 20, 20, 1500)])
    with stated(path, None, "32GiB") as trace:
        assert trace.scalar("SELECT memory_bytes FROM devices") == 32 << 30
        assert trace.scalar("SELECT sms FROM devices") == 20
        assert trace.rank(trace.ranks[0]).scalar("SELECT memory_bytes FROM devices") == 32 << 30
        with trace.locked() as locked:
            assert locked.scalar("SELECT memory_bytes FROM devices") == 32 << 30
    with stated(path, "ascend910b2", None) as trace:
        [row] = trace.rows("SELECT name, sms, clock_hz FROM devices")
        assert row == {"name": "Ascend 910B2", "sms": None, "clock_hz": None}
        assert any(note[0] == "device-stated" for note in trace.notes)


def test_what_users_state_must_mean_something() -> None:
    assert StatedDevice.of(None, None) is None
    assert StatedDevice.of(None, "64") == StatedDevice(None, 64 << 30)
    assert StatedDevice.of("H100 80GB HBM3", "80GB") == StatedDevice("H100-SXM5-80GB", 80 * 10**9)
    for device, memory in (("Ascend 911Z", None), (None, "much"), (None, "0GiB")):
        with pytest.raises(UserError):
            StatedDevice.of(device, memory)


def test_kernels_recorded_with_their_shapes_have_a_roofline_without_operators(tmp_path: Path) -> None:
    shapes = {
        "Input Shapes": '"""4096,1024;6144,1024"""', "Input Data Types": "DT_BF16;DT_BF16", "Input Formats": "ND;ND",
        "Output Shapes": '"""4096,6144"""', "Output Data Types": "DT_BF16", "Output Formats": "ND",
    }  # fmt: skip
    path = tmp_path / "kernel_details.csv"
    write_csv(path, [kernel(n, 20, 20, 1800, us=250, **shapes) for n in range(2)])
    with open_fresh(path) as trace:
        rows = {row["name"]: row for row in analyses()["roofline_shapes"].run(trace).records()}
        assert rows["aclnnMm0_MatMulV2"]["flops"] == 2 * 4096 * 1024 * 6144
        assert json.loads(rows["aclnnMm0_MatMulV2"]["shapes"]) == [[4096, 1024], [6144, 1024]]
        assert rows["aclnnMm0_MatMulV2"]["efficiency"] == pytest.approx(0.699, abs=0.001)
        whole = analyses()["mfu"].run(trace).records()[-1]
        assert (whole["peak"], whole["covered"]) == ("Ascend 910B3 bf16", 1.0)


def test_half_a_clock_is_not_taken_for_two_rounds(tmp_path: Path) -> None:
    job = SimJob(device="ascend910b2", layers=1, steps=1, hidden=1024, sequence=512, slow_rank=0, slow_factor=2.0)
    # Databases have no share of the chip that kernels used.
    with open_fresh(simulate(job, tmp_path / "run", "ascend-db")[0]) as trace:
        [found] = trace.rows("SELECT sms, clock_hz FROM devices")
    assert found == {"sms": 24, "clock_hz": 900_000_000}
