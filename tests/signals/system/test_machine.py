"""Signals made of samples of the machine."""

from __future__ import annotations

import pytest

from machine_support import SECOND, add_samples, add_storage
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.data import data
from stepscope.signals.shared import job
from stepscope.signals.system import machine, machine_storage
from support import Facts

MAIN = "main thread of process 1"
JOB = {
    ("job", "may use", "cores"): 4, ("job", "busy", "cores"): 2, ("job", "ready without a processor", "threads"): 1,
    ("job", "threads", "count"): 9, ("job", "loader workers", "count"): 2, ("job", "processes", "count"): 3,
    ("processors", "busy", "cores"): 3.5, (MAIN, "busy", "share"): 0.25,
    (MAIN, "ready without a processor", "share"): 0.25, ("main thread of process 7", "busy", "share"): 0.9,
    ("disk sda", "busy", "share"): 0.5, ("disk sda", "read", "bytes/s"): 80, ("disk sda", "written", "bytes/s"): 20,
    ("disk sda", "queue", "count"): 3, ("disk sdb", "busy", "share"): 0.9, ("job", "read from disks", "bytes/s"): 60,
    ("job", "reads", "1/s"): 100, ("job", "read", "bytes/s"): 5000, ("network eth0", "received", "bytes/s"): 7,
    ("network eth1", "sent", "bytes/s"): 2, ("device 0", "busy", "share"): 0.4, ("device 1", "busy", "share"): 1,
    ("files on /data", "seen open", "count"): [0, 4, 8, 12, 16, 20, 24],
    ("files on /data", "different", "count"): [0, 3, 6, 9, 12, 15, 18],
}  # fmt: skip


def sampled(*, device: bool = False) -> Signals:
    """Steps of half a second, and seven samples after them."""
    facts = Facts()
    for number in range(4):
        facts.step(number, number * SECOND // 2, SECOND // 2)
        facts.host("op", "aten::mm", number * SECOND // 2, 1000)
        if device:
            facts.kernel("gemm", number * SECOND // 2 + 2000, 1000, launch=(number * SECOND // 2 + 1100, 100))
    add_samples(facts, JOB, at=range(3, 10))
    add_storage(facts, "/data", "rotational", "sda")
    add_storage(facts, "/net", "network")
    return Signals.of(facts.trace())


def test_use_of_processors() -> None:
    use = sampled()(machine.processors)
    assert (use.cores, use.job, use.waiting, use.main, use.main_waiting) == (4, 2, 1, 0.25, 0.25)
    assert (use.threads, use.workers, use.processes, use.others, use.blocked) == (9, 2, 3, 1.5, 0.5)


def test_disks_network_and_devices() -> None:
    s = sampled(device=True)
    assert (s(machine.disk_busy), s(machine.network_rate), s(machine.device_busy)) == (0.9, 9, 0.4)
    disk = s(machine_storage.data_disk)
    assert (disk.name, disk.mount, disk.rate, disk.job_share, disk.queue, disk.read_ns) == (
        "sda", "/data", 100, 0.6, 3, None,
    )  # fmt: skip


def test_reads_of_a_step() -> None:
    found = sampled()(machine_storage.file_reads)
    assert (found.per_step, found.bytes_per_read) == (50, 50)
    # Four sightings per sample, three of which are of new files.
    assert found.kept_open == 1.0
    assert set(found.kinds) == {"rotational", "network"}


@pytest.mark.parametrize(("in_process", "expected"), [(True, 400), (False, 100)])
def test_the_part_of_the_wait_in_which_the_loader_is_blocked(in_process: bool, expected: int) -> None:
    known = {data.in_process: in_process, data.wait_ns: 400, job.step_ns: 1000}
    # Half of the step is more than the wait; of two workers, 1.5 run or are ready to.
    use = machine.ProcessorUse(4, 1.5, 0.5, main=0.25, main_waiting=0.25, workers=2)
    assert Signals(0, {**known, machine.processors: use})(machine_storage.loading_blocked_ns) == expected


def test_without_samples_all_are_missing() -> None:
    facts = Facts()
    facts.step(0, 0, SECOND)
    s = Signals.of(facts.trace())
    for one in (machine.processors, machine.disk_busy, machine.device_busy, machine_storage.data_disk):
        with pytest.raises(MissingInputError):
            s(one)
