"""Values of NCCL's variables that it refuses, or takes for something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

#: Whole numbers: which fit, and in words. NCCL's guide states those of threads, sockets, timeout, retries, queue pairs,
#: clusters and blocks; its sources take up to 640 threads per block, and -1 for service level and traffic class, which
#: are fields of 4 and 8 bits (InfiniBand). AMD's takes more blocks.
_NUMBERS: Final[dict[str, tuple[Callable[[int], bool], str]]] = {
    "NCCL_NTHREADS": (lambda value: value % 32 == 0 and 64 <= value <= 640, said("64, 128, 256 or 512")),
    "NCCL_SOCKET_NTHREADS": (lambda value: 1 <= value <= 16, said("1 to 16")),
    "NCCL_NSOCKS_PERTHREAD": (
        lambda value: 1 <= value <= 64,
        said("1 to 64, and with NCCL_SOCKET_NTHREADS times as many"),
    ),
    "NCCL_BUFFSIZE": (lambda value: value >= 1, said("bytes, best a power of two")),
    "NCCL_CROSS_NIC": (lambda value: 0 <= value <= 2, said("0, 1 or 2")),
    "NCCL_IB_SL": (lambda value: -1 <= value <= 15, said("0 to 15, or -1 for NCCL's choice")),
    "NCCL_IB_TC": (lambda value: -1 <= value <= 255, said("0 to 255, or -1 for NCCL's choice")),
    "NCCL_IB_TIMEOUT": (lambda value: 0 <= value <= 31, said("0 to 31: 4 µs times two to the power of it")),
    "NCCL_IB_RETRY_CNT": (lambda value: 0 <= value <= 7, said("0 to 7")),
    "NCCL_IB_QPS_PER_CONNECTION": (lambda value: 1 <= value <= 128, said("1 to 128")),
    "NCCL_CGA_CLUSTER_SIZE": (lambda value: 0 <= value <= 8, said("0 to 8")),
    "NCCL_MIN_NCHANNELS": (lambda value: value >= 1, said("a number of channels from 1 on")),
    "NCCL_MAX_NCHANNELS": (lambda value: value >= 1, said("a number of channels from 1 on")),
    "NCCL_MIN_CTAS": (lambda value: value >= 1, said("a number of blocks from 1 on")),
    "NCCL_MAX_CTAS": (lambda value: value >= 1, said("a number of blocks from 1 on")),
}
_COLLECTIVES: Final = ("allreduce", "broadcast", "reduce", "allgather", "reducescatter")
_LEVELS: Final = ("loc", "nvl", "pix", "pxb", "phb", "sys", "c2c", "p2c", "pxn", "dis")
#: Words, without regard to case.
_WORDS: Final = {
    "NCCL_ALGO": (*_COLLECTIVES, "tree", "ring", "collnet", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"),
    "NCCL_PROTO": (*_COLLECTIVES, "ll", "ll128", "simple"),
    # The last is of NCCL 2.32 and later; AMD's has `error`.
    "NCCL_DEBUG": ("version", "warn", "info", "abort", "trace", "none", "error", "attn"),
    "NCCL_SOCKET_FAMILY": ("af_inet", "af_inet6"),
    "NCCL_P2P_LEVEL": _LEVELS,
    "NCCL_NET_GDR_LEVEL": _LEVELS,
}
#: Levels had numbers before they had names.
_OR_NUMBERS: Final = ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL")
_MOST_SOCKETS: Final = 64


def _number(text: str) -> int | None:
    """A whole number as C reads it, with 0x for a hexadecimal one."""
    try:
        return int(text.strip(), 0)
    except ValueError:
        return int(text) if text.strip().isdecimal() else None


@check(
    "nccl-values",
    "one of "
    + ", ".join(f"`{name}`" for name in (*_NUMBERS, *_WORDS))
    + " has a value that NCCL does not take, or sockets times threads are more than 64",
    "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)",
)
def nccl_values(facts: Facts) -> Verdict:
    """Values out of range, and words that are none of NCCL's."""
    found = []
    for name, (fits, values) in _NUMBERS.items():
        given = facts.environ.get(name)
        number = _number(given) if given else None
        if given and (number is None or not fits(number)):
            why = said("NCCL fails, or goes on with another value")
            found.append(Advice("error", f"{name}={given}", why, said("give {values}", values=values)))
    for name, words in _WORDS.items():
        given = facts.environ.get(name, "")
        parts = [part.strip().lower() for part in re.split(r"[\^,;:]", given) if part.strip()]
        unknown = [part for part in parts if part not in words and not (name in _OR_NUMBERS and part.isdecimal())]
        if unknown:
            why = said("NCCL does not know it, and fails or goes on without")
            known = ", ".join(word for word in words if word not in _COLLECTIVES)
            found.append(Advice("error", f"{name}={given}", why, said("give some of {known}", known=known)))
    threads, sockets = (_number(facts.environ.get(name, "1")) or 1 for name in list(_NUMBERS)[1:3])
    if threads <= 16 and sockets <= _MOST_SOCKETS < threads * sockets:
        what = said(
            "NCCL_SOCKET_NTHREADS={threads} and NCCL_NSOCKS_PERTHREAD={sockets}", threads=threads, sockets=sockets
        )
        why = said("NCCL opens {most_sockets} sockets per connection at most", most_sockets=_MOST_SOCKETS)
        found.append(
            Advice("error", what, why, said("multiplied they may be {most_sockets}", most_sockets=_MOST_SOCKETS))
        )
    return found
