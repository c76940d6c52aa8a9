"""Settings of HCCL, the collectives of NPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.doctor.machine import whole
from stepscope.language import said

_HCCL: Final = (
    "[CANN](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/850/maintenref/envvar/envref_07_0149.html)"
)
#: Values that HCCL takes, and in words.
_VALUES: Final[dict[str, tuple[Callable[[int], bool], str]]] = {
    "HCCL_RDMA_TC": (
        lambda value: 0 <= value <= 255 and value % 4 == 0,
        said("a multiple of 4 from 0 to 252: DSCP times 4"),
    ),
    "HCCL_RDMA_SL": (lambda value: 0 <= value <= 7, said("0 to 7, the priority with flow control on the switch")),
    "HCCL_BUFFSIZE": (lambda value: value >= 1, said("a whole number of MB from 1 on")),
    "HCCL_CONNECT_TIMEOUT": (lambda value: 120 <= value <= 7200, said("120 to 7200 s")),
    "HCCL_RDMA_TIMEOUT": (lambda value: 5 <= value <= 24, said("5 to 24 (to 20 on Atlas A2 and A3)")),
    "HCCL_RDMA_RETRY_CNT": (lambda value: 1 <= value <= 7, said("1 to 7")),
    "HCCL_RDMA_QPS_PER_CONNECTION": (lambda value: 1 <= value <= 32, said("1 to 32, better not above 8")),
    "HCCL_IF_BASE_PORT": (
        lambda value: 1024 <= value <= 65520,
        said("a port from 1024 to 65520: 16 from there are used, or 32 since CANN 8.5"),
    ),
}
_FAMILIES: Final = ("AF_INET", "AF_INET6")


@check(
    "hccl-values",
    "`HCCL_RDMA_TC` is no multiple of 4 up to 252, `HCCL_RDMA_SL` not 0 to 7, `HCCL_BUFFSIZE` no whole number of MB,"
    " `HCCL_CONNECT_TIMEOUT` not 120 to 7200, `HCCL_RDMA_TIMEOUT` not 5 to 24, `HCCL_RDMA_RETRY_CNT` not 1 to 7,"
    " `HCCL_RDMA_QPS_PER_CONNECTION` not 1 to 32,"
    " `HCCL_IF_BASE_PORT` not 1024 to 65520, `HCCL_SOCKET_FAMILY` neither `AF_INET` nor `AF_INET6`, or"
    " `HCCL_INTRA_PCIE_ENABLE` and `HCCL_INTRA_ROCE_ENABLE` are both 1",
    _HCCL,
)
def hccl_values(facts: Facts) -> Verdict:
    """Values that HCCL refuses."""
    found = []
    for name, (fits, values) in _VALUES.items():
        given = facts.environ.get(name)
        number = whole(given)
        if given is not None and (number is None or not fits(number)):
            found.append(
                Advice(
                    "error",
                    f"{name}={given}",
                    "HCCL refuses it or uses its default",
                    said("give {values}", values=values),
                )
            )
    family = facts.environ.get("HCCL_SOCKET_FAMILY")
    if family is not None and family not in _FAMILIES:
        why, change = (
            said("HCCL refuses it or uses its default"),
            said("give {one} or {other}", one=_FAMILIES[0], other=_FAMILIES[1]),
        )
        found.append(Advice("error", f"HCCL_SOCKET_FAMILY={family}", why, change))
    both = ("HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE")
    if all(facts.environ.get(name) == "1" for name in both):
        why = said("within a server only one of PCIe and RoCE is used")
        found.append(
            Advice("error", said("{both}=1 and {both2}=1", both=both[0], both2=both[1]), why, "set one of them to 0")
        )
    return found


@check(
    "hccl-priority",
    "only one of `HCCL_RDMA_TC` and `HCCL_RDMA_SL` is set",
    _HCCL,
)
def hccl_priority(facts: Facts) -> Verdict:
    """Traffic class and priority that belong together."""
    given = [name for name in ("HCCL_RDMA_TC", "HCCL_RDMA_SL") if name in facts.environ]
    if len(given) != 1:
        return []
    other = said("HCCL_RDMA_SL (4 by default)") if given == ["HCCL_RDMA_TC"] else said("HCCL_RDMA_TC (132 by default)")
    why = said("a switch controls the flow of one priority, and packets of another class are lost when it is full")
    return [
        Advice(
            "info",
            said("{given} is set without the other", given=given[0]),
            why,
            said("see whether {other} fits it and the switch", other=other),
        )
    ]
