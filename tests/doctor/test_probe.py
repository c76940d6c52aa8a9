"""Facts of machines that are given as files, variables and outputs of commands."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from stepscope.doctor.facts import UNLIMITED, Facts, Gpu
from stepscope.doctor.machine import Machine, numbers, version
from stepscope.doctor.probe.gather import gather

MOUNTS = """\
21 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw
22 21 0:30 / /mnt/images rw shared:1 - nfs4 store:/images rw
23 21 8:1 / /scratch rw - xfs /dev/sda1 rw
24 21 254:0 / /home/me/my\\040disk rw - ext4 /dev/vda rw
"""
HOST = {
    "proc/self/status": "Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,4\n",
    "proc/self/limits": (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n"
    ),
    "proc/meminfo": "MemTotal:       16 kB\nSwapTotal:      8 kB\nSwapFree:       3 kB\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/sys/kernel/osrelease": "5.15.0-101-generic\n",
    "proc/modules": "nvidia_peermem 16384 0 - Live 0x0\n",
    "proc/driver/nvidia/version": "NVRM",
    "proc/self/mountinfo": MOUNTS,
    "sys/devices/system/cpu/online": "0-7\n",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "performance\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node1/cpulist": "4-7\n",
    "sys/devices/system/node/possible": "0-1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/infiniband/mlx5_0/ports": "",
    "sys/bus/pci/devices/0000:17:00.0/vendor": "0x10de\n",
    "sys/bus/pci/devices/0000:17:00.0/class": "0x030200\n",
    "sys/bus/pci/devices/0000:17:00.0/numa_node": "1\n",
    "sys/bus/pci/devices/0000:18:00.0/vendor": "0x10de\n",
    "sys/bus/pci/devices/0000:18:00.0/class": "0x068000\n",
    "sys/dev/block/8:1/../queue/rotational": "1\n",
    "sys/dev/block/259:1/queue/rotational": "0\n",
    "dev/davinci0": "",
    "dev/davinci_manager": "",
    "mnt/images/a.jpg": "",
    "train.py": "",
}


def written(root: Path, files: dict[str, str]) -> Path:
    """A machine's files."""
    for name, text in files.items():
        parts = name.split("/../")
        path = root / name
        if len(parts) == 2:
            # As on Linux, a number leads to a partition within its disk.
            (root / "sys/block/sda/sda1").mkdir(parents=True)
            (root / parts[0]).parent.mkdir(parents=True, exist_ok=True)
            (root / parts[0]).symlink_to(root / "sys/block/sda/sda1")
            path = root / "sys/block/sda" / parts[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def nvidia_smi(command: Sequence[str]) -> str | None:
    """An nvidia-smi that refuses what it does not know, and Python with packages."""
    if command[0] != "nvidia-smi":
        return (
            f"a warning\n{json.dumps([{'torch': '2.13.0+cu130'}, '13.0', ''])}\n" if command[0] == "python3" else None
        )
    fields = command[1].removeprefix("--query-gpu=").split(",")
    values = {
        "index": "0", "name": "NVIDIA H100 80GB HBM3", "driver_version": "580.95.05", "persistence_mode": "Enabled",
        "memory.used": "4", "compute_cap": "9.0", "power.limit": "650.00", "power.default_limit": "700.00",
        "pcie.link.width.current": "16", "pcie.link.width.max": "16", "clocks.applications.graphics": "[N/A]",
        "clocks.default_applications.graphics": "1980", "clocks_throttle_reasons.active": "0x0000000000000045",
    }  # fmt: skip
    return None if set(fields) - set(values) else ", ".join(values[one] for one in fields) + "\n"


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    program = ("python3", "train.py", "--data", "/mnt/images", "--lr=1e-3", "--cache=/scratch")
    variables = {"PWD": "/", "HOME": "/home/me/my disk", "TRITON_CACHE_DIR": "/home/me/my disk/triton"}
    (tmp_path / "scratch").mkdir()
    return gather(Machine(program, root=written(tmp_path, HOST), environ=variables, run=nvidia_smi))


def test_cpus_memory_and_limits(facts: Facts) -> None:
    assert (facts.cpus, facts.allowed) == (8, frozenset({0, 1, 4}))
    assert facts.nodes == {0: frozenset(range(4)), 1: frozenset(range(4, 8))}
    assert facts.governors == {"powersave", "performance"}
    assert (facts.numa_balancing, facts.huge_pages) == (True, "madvise")
    assert (facts.memory, facts.swapped) == (16 * 1024, 5 * 1024)
    assert facts.limits == {"Max open files": 1024, "Max locked memory": UNLIMITED}
    assert facts.kernel == (5, 15, 0)
    assert facts.modules == {"nvidia_peermem"}
    assert facts.infiniband == ("mlx5_0",)


def test_devices(facts: Facts) -> None:
    assert facts.gpus == (
        Gpu(
            0, "NVIDIA H100 80GB HBM3", (580, 95, 5), (9, 0), persistent=True, power_limit_w=650.0,
            power_default_w=700.0,
            link_width=16, link_most=16, slowed=("heat",), clock_default_mhz=1980, used_mib=4,
        ),
    )  # fmt: skip
    assert facts.npus == 1
    assert facts.device_nodes == {"0000:17:00.0": 1}
    assert (facts.packages, facts.torch_cuda) == ({"torch": "2.13.0+cu130"}, (13, 0))
    assert (facts.torch_hip, facts.amd_gpus) == ((0, 0), ())


def test_gpus_of_amd_and_an_iommu(tmp_path: Path) -> None:
    devices = "sys/bus/pci/devices"
    written(tmp_path, {
        f"{devices}/0000:0c:00.0/vendor": "0x1002\n", f"{devices}/0000:0c:00.0/class": "0x120000\n",
        f"{devices}/0000:0c:00.0/iommu_group/type": "DMA-FQ\n",
        # A card that drives a screen is no accelerator of AMD's.
        f"{devices}/0000:03:00.0/vendor": "0x1002\n", f"{devices}/0000:03:00.0/class": "0x030000\n",
        "dev/kfd": "",
    })  # fmt: skip
    found = gather(Machine(root=tmp_path, environ={}, run=lambda _: None))
    assert (found.amd_gpus, found.amd_open) == (("0000:0c:00.0",), True)
    assert found.iommu == {"0000:0c:00.0": "DMA-FQ"}
    (tmp_path / "dev/kfd").unlink()
    assert gather(Machine(root=tmp_path, environ={}, run=lambda _: None)).amd_open is False


def test_what_installers_of_npus_leave(tmp_path: Path) -> None:
    written(tmp_path, {"usr/local/Ascend/driver/version.info": "Version=24.1.rc2\nascendhal_version=7.35.23\n"})
    (tmp_path / "cann").mkdir()
    environ = {"ASCEND_HOME_PATH": "/gone", "ASCEND_TOOLKIT_HOME": "/cann"}
    found = gather(Machine(root=tmp_path, environ=environ, run=lambda _: None))
    assert (found.npu_driver, found.cann_missing) == ((24, 1), ("ASCEND_HOME_PATH",))


NPU_SMI = """\
+--------------------------------------------------------------------------------+
| npu-smi 24.1.rc2                 Version: 24.1.rc2                             |
+---------------------------+---------------+------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================+
| 0     910B3               | OK            | 90.5        49                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          53358/ 65536         |
+===========================+===============+====================================+
| 1     910B3               | Alarm         | 89.1        47                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          3358 / 65536         |
+===========================+===============+====================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
| 0       0                 | 1712733       | python                   | 50000                   |
+===========================+===============+====================================+
| No running processes found in NPU 1                                            |
"""


def test_npus(tmp_path: Path) -> None:
    found = gather(Machine(root=tmp_path, environ={}, run=lambda command: NPU_SMI if command[0] == "npu-smi" else None))
    assert found == Facts(npu_driver=(24, 1), npu_health={0: "OK", 1: "Alarm"}, npu_processes=1)


def test_an_npu_smi_that_says_something_else(tmp_path: Path) -> None:
    found = gather(Machine(root=tmp_path, environ={}, run=lambda _: "| a | b |\nno device\n"))
    assert found == Facts()


def test_arguments_are_looked_up_in_the_working_folder(tmp_path: Path) -> None:
    root = written(tmp_path, {**HOST, "srv/data/a.bin": "", "srv/notes.txt": "", "data.bin": ""})
    program = ("python3", "train.py", "data", "data/a.bin", "notes.txt", "data.bin", "--out=none/such")
    found = gather(Machine(program, ("more",), root=root, environ={"PWD": "/srv"}, run=lambda _: None))
    assert [one.path for one in found.places or () if one.use == "data"] == [
        "/srv/more",
        "/srv/data",
        "/srv/data/a.bin",
    ]


TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     +-- 192.0.2.0/24 2 0 2
        |-- 192.0.2.0
           /24 link UNICAST
        |-- 192.0.2.7
           /32 host LOCAL
        |-- 192.0.2.255
           /32 link BROADCAST
"""


def test_interfaces_addresses_and_libraries_that_are_loaded_first(tmp_path: Path) -> None:
    written(tmp_path, {
        "sys/class/net/bonding_masters": "", "sys/class/net/eth0/mtu": "1500", "sys/class/net/lo/mtu": "65536",
        "proc/net/fib_trie": TRIE,
        "proc/net/if_inet6": "fe8000000000000000fc00fffe000001 04 40 20 80     eth0\nbroken\n",
        "opt/libjemalloc.so.2": "", "usr/lib/libown.so": "", "etc/ld.so.cache": "\0libknown.so.1\0",
        "here/libhere.so": "", "more/libpath.so": "",
    })  # fmt: skip
    names = (
        "/opt/libjemalloc.so.2:/opt/gone.so libown.so libknown.so.1 ./libhere.so libpath.so libnone.so.1 $ORIGIN/any.so"
    )
    environ = {"LD_PRELOAD": names, "LD_LIBRARY_PATH": "/more", "PWD": "/here"}
    found = gather(Machine(root=tmp_path, environ=environ, run=lambda _: None))
    assert found.interfaces == ("eth0", "lo")
    assert found.addresses == {"192.0.2.7", "fe80::fc:ff:fe00:1"}
    assert found.preload_missing == ("/opt/gone.so", "libnone.so.1")
    (tmp_path / "etc/ld.so.cache").unlink()
    found = gather(Machine(root=tmp_path, environ=environ, run=lambda _: None))
    assert found.preload_missing == ("/opt/gone.so",)


def test_places(facts: Facts) -> None:
    found = {(one.use, one.path): (one.file_system, one.rotating) for one in facts.places or ()}
    assert found == {
        ("data", "/mnt/images"): ("nfs4", None),
        ("data", "/scratch"): ("xfs", True),
        ("compiled", "/home/me/my disk/triton"): ("ext4", None),
        ("output", "/"): ("ext4", False),
    }
    assert all(one.free for one in facts.places or ())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, (None, None, None, None, None)),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000"}, (math.inf, 0.0, None, None, None)),
        (
            {
                "proc/self/cgroup": "0::/job/step\n",
                "sys/fs/cgroup/job/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
                "sys/fs/cgroup/job/cpu.stat": "usage_usec 1\nnr_periods 100\nnr_throttled 25\n",
                "sys/fs/cgroup/job/step/memory.max": "max\n",
                "sys/fs/cgroup/job/step/memory.events": "oom 3\noom_kill 2\n",
                "sys/fs/cgroup/job/memory.max": "1000\n",
                "sys/fs/cgroup/job/memory.current": "900\n",
                "sys/fs/cgroup/job/memory.stat": "anon 1\ninactive_file 300\n",
            },
            (4.0, 0.25, 1000, 600, 2),
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/docker/a\n3:memory:/docker/a\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us": "150000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes": "900\n",
            },
            (1.5, None, UNLIMITED, 900, None),
        ),
    ],
)
def test_control_groups(files: dict[str, str], expected: tuple[object, ...], tmp_path: Path) -> None:
    found = gather(Machine(root=written(tmp_path, files), environ={}, run=lambda _: None))
    assert (found.cpu_quota, found.throttled, found.memory_limit, found.memory_used, found.killed) == expected


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = gather(Machine(root=tmp_path, environ={}, run=lambda _: None))
    assert found == Facts()


def test_a_machine_without_gpus(tmp_path: Path) -> None:
    root = written(tmp_path, {"proc/modules": "", "sys/class/net/eth0": ""})
    found = gather(Machine(root=root, environ={}, run=lambda _: None))
    assert (found.gpus, found.infiniband, found.packages) == ((), (), None)


@pytest.mark.parametrize("text", ["", "not json", "[1]", "[[], 3]", None])
def test_a_python_that_does_not_answer(text: str | None, tmp_path: Path) -> None:
    found = gather(Machine(("train",), root=tmp_path, environ={}, run=lambda _: text))
    assert found.packages is None


def test_lists_and_versions() -> None:
    assert numbers("0-2,8") == {0, 1, 2, 8}
    assert numbers("0-x") is None
    assert numbers("0-99999999999") is None
    assert version("580.95.05") == (580, 95, 5)
    assert version("2.1.0.post12") == (2, 1, 0)
    assert version("6.8rc1") == (6, 8)
    assert version("[N/A]") is None


@pytest.mark.parametrize(("knows", "calls"), [(True, 1), (False, 8)])
def test_nvidia_smi_is_asked_once_if_it_knows_all(knows: bool, calls: int, tmp_path: Path) -> None:
    asked = []

    def smi(command: Sequence[str]) -> str | None:
        if command[0] == "nvidia-smi":
            asked.append(command)
            fields = command[1].removeprefix("--query-gpu=").split(",")
            return "0" + ", [N/A]" * (len(fields) - 1) if knows or "mig.mode.current" not in fields else None
        return None

    assert gather(Machine(root=tmp_path, environ={}, run=smi)).gpus == (Gpu(0, "[N/A]"),)
    assert len(asked) == calls
