"""The setting of a communication library that keeps RDMA from losing packets."""

from __future__ import annotations

from typing import Final

from stepscope.rules.finding import Action
from stepscope.signals import Signals
from stepscope.signals.shared.job import platform

_NPU: Final = Action(
    "Give collectives the traffic class and priority that the switches' flow control expects",
    before="HCCL_RDMA_TC and HCCL_RDMA_SL unset: 132 (DSCP 33) and 4",
    after="export HCCL_RDMA_TC=132   # DSCP in bits 2 to 7, as configured on the switches\n"
    "export HCCL_RDMA_SL=4     # the priority that flow control protects\n"
    "hccn_tool -i 0 -stat -g   # roce_new_pkt_rty_num, roce_out_of_order_num: packets sent again",
    page="hccl-settings",
)
_CUDA: Final = Action(
    "Give collectives the traffic class that the switches' flow control expects, and look at the adapters' counters",
    before="NCCL_IB_TC unset",
    after="export NCCL_IB_TC=106\nexport NCCL_IB_TIMEOUT=22   # tolerate longer pauses\n"
    "rdma statistic show   # out_of_sequence, packet_seq_err, rnr_nak_retry_err",
    page="collective-bandwidth",
)
#: The setting of either library, of which that of the program is shown.
RDMA_CLASS: Final = (_NPU, _CUDA)


def rdma_class(s: Signals) -> Action:
    """That of the platform at hand."""
    return _NPU if s(platform) == "npu" else _CUDA
