"""Counters of the machine and of a job's processes, from files as Linux writes them."""

from __future__ import annotations

from pathlib import Path

from stepscope.record.machine.files import Roots
from stepscope.record.machine.host import Host
from stepscope.record.machine.processes import JobProcesses
from stepscope.record.machine.storage import Storage


def put(root: Path, files: dict[str, str]) -> Roots:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Roots(str(root / "proc"), str(root / "sys"))


MACHINE = {
    "proc/stat": "cpu  9 0 9 9 9 0 0 0 0 0\ncpu0 100 20 30 1000 7 1 2 5 0 0\n"
    "ctxt 1\nprocs_running 3\nprocs_blocked 1\n",
    "proc/meminfo": "MemTotal: 99 kB\nMemAvailable:  50 kB\nCached: 20 kB\nDirty: 1 kB\nSwapFree: 0 kB\n",
    "proc/vmstat": "pgfault 5\npgmajfault 42\n",
    "proc/net/dev": "Inter-|\n face |\n    lo: 9 9 0 0 0 0 0 0 9 9\n  eth0: 1000 7 0 2 0 0 0 0 500 3 0 0 0 0 0 0\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull avg10=0.00 avg60=0.00 total=30\n",
    "sys/block/sda/stat": "   10 0 16 40 3 0 8 12 1 50 60\n",
    "sys/block/loop0/stat": "9 0 9 9 9 0 9 9 9 9 9\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 9\nnr_throttled 2\nthrottled_usec 1500\n",
    "sys/fs/cgroup/cpu.max": "150000 100000\n",
    "sys/devices/system/node/node0/cpulist": "0-3,8\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "10\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "5\n",
}


def test_the_machine(tmp_path: Path) -> None:
    host = Host(put(tmp_path, MACHINE))
    assert (host.quota(), host.nodes()) == (1.5, {"0": "0-3,8"})
    assert host.read() == {
        "cores": {"0": [153, 7, 5]},
        "threads": {"running": 3, "blocked": 1},
        "memory": {"available": 51200, "cached": 20480, "dirty": 1024, "swap_free": 0, "major_faults": 42},
        "disks": {"sda": [10, 8192, 40, 3, 4096, 12, 50]},
        "network": {"eth0": [1000, 2, 500], "mlx5_0:1": [40, 0, 20]},
        "pressure": {"io": 70, "io_full": 30},
        "throttled": 1500,
    }


def test_what_a_system_lacks_is_left_out(tmp_path: Path) -> None:
    host = Host(Roots(str(tmp_path), str(tmp_path)))
    assert (host.quota(), host.nodes()) == (None, {})
    found = host.read()
    assert found["throttled"] is None
    assert not any(found[name] for name in ("cores", "memory", "disks", "network", "pressure"))


def test_the_first_cgroups_have_a_quota_and_throttle_in_ns(tmp_path: Path) -> None:
    group = {"cpu.cfs_quota_us": "200000", "cpu.cfs_period_us": "100000", "cpu.stat": "throttled_time 3000000\n"}
    host = Host(put(tmp_path, {f"sys/fs/cgroup/cpu/{name}": text for name, text in group.items()}))
    assert (host.quota(), host.read()["throttled"]) == (2.0, 3000)


def process(pid: int, parent: int, *, command: str, children: str = "", state: str = "S", read: int = 0,
            threads: tuple[tuple[int, int, int], ...] = ()) -> dict[str, str]:  # fmt: skip
    """The files of a process; each thread with its id, ns that it ran, and ns that it waited."""
    rest = [state, str(parent), *["0"] * 7, "4", *["0"] * 7, str(len(threads)), "0", "77", "0", "25", "0"]
    found = {
        f"proc/{pid}/stat": f"{pid} (a (b) c) {' '.join(rest)}\n",
        f"proc/{pid}/cmdline": command.replace(" ", "\0") + "\0",
        f"proc/{pid}/io": f"rchar: {read}\nwchar: 0\nsyscr: 2\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n",
    }
    for thread, ran, waited in threads:
        found[f"proc/{pid}/task/{thread}/schedstat"] = f"{ran} {waited} 9\n"
        found[f"proc/{pid}/task/{thread}/children"] = children if thread == pid else ""
    return found


JOB = {
    **process(10, 1, command="torchrun train.py", children="11 ", threads=((10, 1, 1),)),
    **process(11, 10, command="python train.py", children="12 13 ", read=500, threads=((11, 100, 50), (14, 7, 3))),
    **process(12, 11, command="python train.py", state="D", read=300, threads=((12, 40, 20),)),
    **process(13, 11, command="python -c from multiprocessing.resource_tracker import main", threads=((13, 0, 0),)),
}


def test_a_job_is_its_tree_of_processes(tmp_path: Path) -> None:
    job = JobProcesses(10, put(tmp_path, JOB))
    found = job.read(frozenset((11,)))
    assert sorted(job.pids) == [10, 11, 12, 13]
    assert job.workers == [12]
    assert found["ranks"] == {"11": [100, 50]}
    wanted = {"processes": 4, "threads": 5, "workers": 1, "blocked": 1, "resident": 100, "read_bytes": 800,
              "reads": 8, "ran_ns": 148, "waited_ns": 74, "faults": 16}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_totals_do_not_fall_when_a_worker_ends(tmp_path: Path) -> None:
    job = JobProcesses(10, put(tmp_path, JOB))
    job.read(frozenset())
    put(tmp_path, process(11, 10, command="python train.py", children="", read=850, threads=((11, 120, 50),)))
    found = job.read(frozenset())
    assert (found["processes"], found["workers"], found["read_bytes"], found["ran_ns"]) == (2, 0, 850, 168)


def test_reads_of_a_worker_that_ended_count_once(tmp_path: Path) -> None:
    job = JobProcesses(10, put(tmp_path, JOB))
    assert job.read(frozenset())["read_bytes"] == 800
    # Linux adds the 300 of the worker, and 20 that nobody saw, to its parent, which has read 50 more.
    put(tmp_path, process(11, 10, command="python train.py", children="", read=870, threads=((11, 120, 50),)))
    assert [job.read(frozenset())["read_bytes"] for _ in range(2)] == [870, 870]


def test_the_kind_of_a_virtual_disk_is_unknown(tmp_path: Path) -> None:
    mounts = "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
    roots = put(tmp_path, {"proc/self/mountinfo": mounts, "sys/block/vda/queue/rotational": "1\n"})
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/254:0").symlink_to("../../devices/pci0/block/vda")
    opened = tmp_path / "proc/5/fd"
    opened.mkdir(parents=True)
    (opened / "3").symlink_to("/data.bin")
    storage = Storage(roots)
    storage.look([5], mapped=False)
    storage.read()
    described = storage.describe("/")
    assert (described["kind"], described["disk"]) == ("unknown", "vda")


def test_files_on_their_storage(tmp_path: Path) -> None:
    mounts = (
        "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /data\\040set rw - nfs4 server:/export rw\n31 22 0:41 / /dev/shm rw - tmpfs shm rw\n"
    )
    roots = put(tmp_path, {"proc/self/mountinfo": mounts, "sys/block/sda/queue/rotational": "1\n"})
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/8:1").symlink_to("../../devices/pci0/block/sda/sda1")
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/class/block/sda1").symlink_to("../../devices/pci0/block/sda/sda1")
    opened = tmp_path / "proc/5/fd"
    opened.mkdir(parents=True)
    # Temporary files may lie in memory, below /dev, where no data is looked for.
    kept = Path(__file__).parents[3] / "LICENSE"
    places = ("/out.txt", "/data set/1.jpg", str(kept), "pipe:[7]", "/usr/lib/libc.so.6", "/data set/2.jpg")
    for number, place in zip((1, 3, 4, 5, 6, 7), places, strict=True):
        (opened / str(number)).symlink_to(place)
    (tmp_path / "proc/5/maps").write_text("7f00-7f01 r--s 00000000 00:28 9     /data set/3.arrow\n")
    storage = Storage(roots)
    storage.look([5, 6], mapped=False)
    storage.look([5], mapped=True)
    assert storage.read() == {"/data set": [5, 3, 0], "/": [2, 1, kept.stat().st_size]}
    described = [storage.describe(mount) for mount in ("/", "/data set", "/dev/shm")]
    assert [(one["filesystem"], one["kind"], one["disk"]) for one in described] == [
        ("ext4", "rotational", "sda"), ("nfs4", "network", ""), ("tmpfs", "memory", ""),
    ]  # fmt: skip
