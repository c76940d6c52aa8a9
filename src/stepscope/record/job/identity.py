"""Which process of the job this is."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: Variables that hold rank and world size, by the launcher that sets them: torchrun and its like, Slurm, Open MPI, and
#: MPI launchers that use PMI.
_VARIABLES: Final = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)


#: Modules that run as programs and start the ranks, which they are not; some of them import torch.
_LAUNCHERS: Final = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.", "deepspeed.launcher.")
#: The same by the names under which they are installed.
_COMMANDS: Final = ("torchrun", "accelerate", "accelerate-launch", "deepspeed", "ds")

_LOADER_WORKER: Final = "_worker_loop"


def is_launcher() -> bool:
    """Whether this process only starts others: what it does is no step of any rank."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    module = getattr(spec, "name", "")
    command = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119
    return module.startswith(_LAUNCHERS) or command in _COMMANDS


def only_starts_others() -> bool:
    """Whether a process that shows no step leaves the work to others: it is a launcher, or has children that work.

    A loader's workers are no such children, nor is the helper of multiprocessing that frees shared memory.
    """
    if is_launcher():
        return True
    processes: Any = sys.modules.get("multiprocessing.process")
    forked = list(getattr(processes, "_children", ()))
    names = [getattr(getattr(child, "_target", None), "__name__", "") for child in forked]
    return any(name != _LOADER_WORKER for name in names) or any(map(_is_other_python, _children()))


def is_loader_worker() -> bool:
    """Whether this process only loads data for another one."""
    process: Any = getattr(sys.modules.get("multiprocessing.process"), "_current_process", None)
    return getattr(getattr(process, "_target", None), "__name__", "") == _LOADER_WORKER


def _children() -> list[int]:
    """Numbers of this process's children, where the system tells."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _is_other_python(pid: int) -> bool:
    """Whether a process was started with Python and a program of its own."""
    words = [b""]
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"python" in words[0].rpartition(b"/")[2] and not any(b"multiprocessing" in word for word in words)


@dataclass(frozen=True, slots=True)
class JobProcess:
    """A process of a job.

    Attributes:
        rank: Its rank; 0 for a job of one process, and its number among those that `torch.multiprocessing.spawn`
            started, which may be no ranks.
        world_size: Number of ranks; 1 where none are known.
        joined: Whether torch knows both, which then writes them into its traces itself.
    """

    rank: int
    world_size: int
    joined: bool

    @classmethod
    def current(cls) -> JobProcess:
        """This process, as torch.distributed knows it or its launcher said."""
        distributed: Any = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size(), True)
        for rank, size in _VARIABLES:
            given = os.environ.get(rank, ""), os.environ.get(size, "")
            if given[0].isdecimal() and given[1].isdecimal() and int(given[1]) > 1:
                return cls(int(given[0]), int(given[1]), False)
        return cls(_spawn_index(), 1, False)

    def worker(self) -> str:
        """Name for files: rank, host and process."""
        name = f"{socket.gethostname().split('.')[0] or 'host'}_{os.getpid()}"
        return f"rank{self.rank}_{name}" if self.world_size > 1 else name


def _spawn_index() -> int:
    """What `torch.multiprocessing.spawn` passes to this process first; 0 in any other."""
    process: Any = getattr(sys.modules.get("multiprocessing.process"), "_current_process", None)
    arguments: tuple[Any, ...] = getattr(process, "_args", ())
    spawned = getattr(getattr(process, "_target", None), "__module__", "") == "torch.multiprocessing.spawn"
    index = arguments[1] if spawned and len(arguments) > 1 else 0
    return index if isinstance(index, int) else 0
