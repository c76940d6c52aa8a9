"""Devices from NVML, from the driver of AMD, and from commands, with output as these print it."""

from __future__ import annotations

import inspect
import sys
import time
from pathlib import Path

import pytest

from record.machine.fake_nvml import SIGNATURES, FakeNvml
from stepscope.record.machine import nvidia_smi, nvml
from stepscope.record.machine.devices import open_devices
from stepscope.record.machine.files import Roots
from stepscope.record.machine.npu_smi import NpuLines
from stepscope.record.machine.streams import Stream


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command of a vendor, and no NVML, unless a test puts it in place."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "pynvml", None)


def test_nvml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    source = open_devices(Roots(sys=str(tmp_path)))
    assert source is not None
    first, second = source.read().values()
    assert first == {
        "busy": 37, "memory_busy": 12, "memory_used": 1 << 30, "memory_total": 80 << 30, "power": 123.456,
        "clock": 1980, "memory_clock": 2619, "temperature": 41, "throttled": "power cap, thermal (hardware)",
    }  # fmt: skip
    assert set(first) - set(second) == {"power"}
    source.close()
    assert library.open == 0


def test_visible_devices_are_numbered_as_the_program_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    for visible, numbers in (("1", [0]), ("1,0", [0, 1]), ("GPU-8f1e", [0, 1])):
        source = open_devices(Roots(sys=str(tmp_path)), visible)
        assert source is not None
        assert list(source.read()) == numbers
        assert ("power" in source.read()[0]) == (visible == "GPU-8f1e")


def test_without_a_driver_there_is_no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeNvml()
    monkeypatch.setattr(library, "_answer", lambda *_: (_ for _ in ()).throw(library.NVMLError("Driver Not Loaded")))
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert nvml.open_nvml() is None


def test_the_fake_has_the_parameters_of_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pynvml")
    real = pytest.importorskip("pynvml")
    assert {name: tuple(inspect.signature(getattr(real, name)).parameters) for name in SIGNATURES} == {
        **SIGNATURES, "nvmlDeviceGetHandleByIndex": ("index",),
    }  # fmt: skip


def test_lines_of_nvidia_smi() -> None:
    # As a driver 550 prints them; a device without what is asked says [N/A].
    line = "0, 37, 12, 1024, 81559, 123.45, 1980, 2619, 41, 0x0000000000000044\n"
    found = nvidia_smi.parse(line)
    assert found == (0, {
        "busy": 37.0, "memory_busy": 12.0, "memory_used": 2.0**30, "memory_total": 81559.0 * 2**20, "power": 123.45,
        "clock": 1980.0, "memory_clock": 2619.0, "temperature": 41.0, "throttled": "power cap, thermal (hardware)",
    })  # fmt: skip
    assert nvidia_smi.parse("1, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], 41, [N/A]") == (1, {"temperature": 41})
    assert nvidia_smi.parse("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.") is None
    assert nvidia_smi.parse("") is None


def test_lines_of_npu_smi() -> None:
    lines = NpuLines()
    assert lines.parse("NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   Ctrl Cpu(%)") is None
    assert lines.parse("4           0           NA          45          80          0           0           3  12") == (
        0, {"temperature": 45.0, "busy": 80.0, "memory_share": 3.0, "memory_busy": 12.0},
    )  # fmt: skip
    found = lines.parse("4           1           13.4        45          0           0           0           3  0")
    assert found is not None
    assert (found[0], found[1]["power"]) == (1, 13.4)


def test_files_of_the_amd_driver(tmp_path: Path) -> None:
    device = tmp_path / "class/drm/card1/device"
    (device / "hwmon/hwmon4").mkdir(parents=True)
    # A card of another vendor, and a connector.
    (tmp_path / "class/drm/card0/device").mkdir(parents=True)
    (tmp_path / "class/drm/card1-DP-1").mkdir()
    files = {"gpu_busy_percent": "63", "mem_info_vram_used": "4096", "mem_info_vram_total": "8192",
             "hwmon/hwmon4/power1_average": "210000000", "hwmon/hwmon4/freq1_input": "2100000000",
             "hwmon/hwmon4/temp1_input": "54000"}  # fmt: skip
    for name, text in files.items():
        (device / name).write_text(text + "\n")
    source = open_devices(Roots(sys=str(tmp_path)))
    assert source is not None
    assert source.read() == {
        0: {"busy": 63, "memory_used": 4096, "memory_total": 8192, "power": 210.0, "clock": 2100.0, "temperature": 54.0}
    }
    source.close()


def test_a_stream_keeps_the_last_line_of_each_device() -> None:
    code = "print('0, 1, 2, 3, 4, 5, 6, 7, 8, 0x0'); print('0, 9, 2, 3, 4, 5, 6, 7, 8, 0x0', flush=True); input()"
    stream = Stream("fake", [sys.executable, "-c", f"import sys, time; {code.replace('input()', 'time.sleep(60)')}"],
                    nvidia_smi.parse)  # fmt: skip
    until = time.monotonic() + 20
    while stream.read().get(0, {}).get("busy") != 9 and time.monotonic() < until:
        time.sleep(0.01)
    assert stream.read()[0]["busy"] == 9
    stream.close()
    assert stream.read() == {}


def test_without_any_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert open_devices(Roots(sys=str(tmp_path))) is None
