"""Limits of processes."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import UNLIMITED, Facts
from stepscope.language import said

_ULIMIT: Final = "[Linux](https://man7.org/linux/man-pages/man2/getrlimit.2.html)"
#: What workers, caches of kernels, sockets and files of a large job need.
_OPEN_FILES: Final = 4096
_PROCESSES: Final = 4096


def _less(facts: Facts, name: str, least: int) -> int | None:
    """A limit, if there is one below that."""
    value = (facts.limits or {}).get(name)
    return value if value is not None and value != UNLIMITED and value < least else None


@check("open-files", f"a process may open fewer than {_OPEN_FILES} files", _ULIMIT)
def open_files(facts: Facts) -> Verdict:
    """Files of workers."""
    if facts.limits is None or "Max open files" not in facts.limits:
        return None
    limit = _less(facts, "Max open files", _OPEN_FILES)
    if limit is None:
        return []
    why = said(
        "each tensor that a worker hands on takes a file, each connection another; jobs fail with 'too many open files'"
    )
    return [Advice("warning", said("{limit} open files per process", limit=limit), why, "ulimit -n 65536")]


@check("processes", f"a user may have fewer than {_PROCESSES} processes and threads", _ULIMIT)
def processes(facts: Facts) -> Verdict:
    """Threads of all ranks."""
    if facts.limits is None or "Max processes" not in facts.limits:
        return None
    limit = _less(facts, "Max processes", _PROCESSES)
    if limit is None:
        return []
    why = said("each rank has some hundred threads; libraries fail to start theirs")
    return [
        Advice(
            "warning",
            said("{limit} processes and threads", limit=limit),
            why,
            "ulimit -u, or the container's --pids-limit",
        )
    ]


@check(
    "locked-memory",
    "there is InfiniBand or RoCE, and memory that may be locked is limited",
    "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html)",
)
def locked_memory(facts: Facts) -> Verdict:
    """Buffers of RDMA."""
    limit = (facts.limits or {}).get("Max locked memory")
    if limit is None or facts.infiniband is None:
        return None
    if not facts.infiniband or limit == UNLIMITED:
        return []
    why = said("buffers of RDMA are locked in memory; collectives between hosts fail to set up")
    what = said(
        "{limit:,} KiB of memory may be locked, and there is {infiniband}",
        limit=limit // 1024,
        infiniband=", ".join(facts.infiniband),
    )
    return [Advice("error", what, why, "ulimit -l unlimited, or start the container with --ulimit memlock=-1")]
