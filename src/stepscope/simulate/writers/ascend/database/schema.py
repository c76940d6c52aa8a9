"""Tables of the database export, as CANN 8.0 declares them, and its numbers that stand for words.

From CANN 8.5 on blocks are counted by other names, and kernels say whether shapes were known and HF32 was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.simulate.writers.export_database import Schema

_KERNEL: Final = (
    "name globalTaskId@ blockDim mixBlockDim taskType opType inputFormats inputDataTypes inputShapes outputFormats "
    "outputDataTypes outputShapes attrInfo"
)
_TABLES: Final = {
    "SESSION_TIME_INFO": "startTimeNs endTimeNs",
    "NPU_INFO": "id name$",
    "HOST_INFO": "hostUid$ hostName$",
    "COMPUTE_TASK_INFO": _KERNEL,
    "TASK": (
        "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId modelId"
    ),
    "TASK_PMU_INFO": "globalTaskId name value%",
    "MEMCPY_INFO": "globalTaskId size memcpyOperation",
    "CANN_API": "startNs endNs type globalTid connectionId@ name",
    "COMMUNICATION_OP": (
        "opName startNs endNs connectionId groupName opId@ relay retry dataType algType count opType deviceId"
    ),
    "COMMUNICATION_TASK_INFO": (
        "name globalTaskId taskType planeId groupName notifyId rdmaType srcRank dstRank transportType size dataType "
        "linkType opId"
    ),
    "AICORE_FREQ": "deviceId timestampNs freq",
    "NPU_MEM": "type ddr hbm timestampNs deviceId",
    "NPU_MODULE_MEM": "moduleId timestampNs totalReserved deviceId",
    "META_DATA": "name$ value$",
    "STRING_IDS": "id@ value$",
    "RANK_DEVICE_MAP": "rankId deviceId",
    "STEP_TIME": "id startNs endNs",
    # Times of the framework are text.
    "PYTORCH_API": (
        "startNs$ endNs$ globalTid connectionId name sequenceNumber fwdThreadId inputDtypes inputShapes callchainId "
        "type"
    ),
    "CONNECTION_IDS": "id connectionId",
    "PYTORCH_CALLCHAINS": "id stack stackDepth",
    "GC_RECORD": "startNs endNs globalTid",
    "MEMORY_RECORD": "component timestamp totalAllocated totalReserved totalActive streamPtr deviceId",
    "OP_MEMORY": (
        "name size allocationTime releaseTime activeReleaseTime duration activeDuration allocationTotalAllocated "
        "allocationTotalReserved allocationTotalActive releaseTotalAllocated releaseTotalReserved releaseTotalActive "
        "streamPtr deviceId"
    ),
}  # fmt: skip
SCHEMA: Final = Schema(_TABLES, strings="STRING_IDS")
RENAMED: Final = Schema(
    {**_TABLES, "COMPUTE_TASK_INFO": f"{_KERNEL.replace('Dim', 'Num')} opState hf32Eligible"}, strings="STRING_IDS"
)

_SUMS: Final = {
    "StepTraceTime": (
        "step$ computing% communication_not_overlapped% overlapped% communication% free% stage% bubble% "
        "communication_not_overlapped_and_exclude_receive% preparing%"
    ),
    "CommAnalyzerBandwidth": (
        "hccl_op_name$ group_name$ transport_type$ transit_size% transit_time% bandwidth% large_packet_ratio% "
        "package_size% count% total_duration% step$ type$"
    ),
    "CommAnalyzerTime": (
        "hccl_op_name$ group_name$ start_timestamp% elapse_time% transit_time% wait_time% synchronization_time% "
        "idle_time% step$ type$"
    ),
    "CommAnalyzerMatrix": (
        "hccl_op_name$ group_name$ src_rank$ dst_rank$ transport_type$ transit_size% transit_time% bandwidth% step$ "
        "type$ op_name$"
    ),
}  # fmt: skip
ANALYSIS: Final = Schema(_SUMS, strings="STRING_IDS")
ANALYSIS_RENAMED: Final = Schema({**_SUMS, "StepTraceTime": f"deviceId {_SUMS['StepTraceTime']}"}, strings="STRING_IDS")

#: Kinds of the framework's calls, and of CANN's.
OP, QUEUE, PYTHON = 50001, 50002, 50003
LEVELS: Final = {"runtime": 5000, "hccl": 5500, "node": 10000, "acl": 20000}
#: An entry of an enumeration that was not collected, and one that does not apply.
ABSENT, NOT_VALID = 65534, 65535
TRANSPORTS: Final = {"SDMA": 0, "RDMA": 1, "LOCAL": 2}
LINKS: Final = {"ON_CHIP": 0, "HCCS": 1, "PCIE": 2, "ROCE": 3, "SIO": 4}
DATA_TYPES: Final = {"UINT8": 7, "FP16": 3, "FP32": 4, "INT64": 5, "BFP16": 11}
DIRECTIONS: Final = {"HtoD": 0, "DtoH": 1, "DtoD": 2}
MODULES: Final = {"SLOG": 0, "HCCL": 3, "RUNTIME": 7, "DEVMM": 9, "TBE": 12, "AICPU": 14, "APP": 33}
_DIRECTION_NAMES: Final = {"host to device": 0, "device to host": 1, "device to device": 2}
_MISSING: Final = {"N/A": ABSENT, "INVALID_TYPE": NOT_VALID}
ENUMS: Final[Mapping[str, Mapping[str, int]]] = {
    "ENUM_HCCL_TRANSPORT_TYPE": {**TRANSPORTS, **_MISSING},
    "ENUM_HCCL_LINK_TYPE": {**LINKS, **_MISSING},
    "ENUM_HCCL_DATA_TYPE": {**DATA_TYPES, **_MISSING},
    "ENUM_MODULE": MODULES,
    "ENUM_API_TYPE": {**LEVELS, "op": OP, "queue": QUEUE, "trace": PYTHON},
    "ENUM_MEMCPY_OPERATION": _DIRECTION_NAMES,
}
