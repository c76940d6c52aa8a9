"""Tables of an Nsight Systems export, as schema 3.25.0 (release 2026.2) declares them.

The exporter makes a table only if it has rows, and no indexes.
"""

from __future__ import annotations

from typing import Final

from stepscope.simulate.writers.export_database import Schema

SCHEMA_VERSION: Final = (3, 25, 0)
PRODUCT_VERSION: Final = "2026.2.1.210"

_QUEUE: Final = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid"

TABLES: Final[dict[str, str]] = {
    "StringIds": "id@ value$!",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName$! name$! nameEnum! value$!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime$ localTime$ systemClockNs",
    "TARGET_INFO_GPU": (
        "vmId! id! name$ busLocation$ isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount pwGpuId "
        "uuid$ luid chipName$ cuDevice ctxswDevPath$ ctrlDevPath$ revision nodeMask constantMemory maxIPC "
        "maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp "
        "asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ "
        "maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"
    ),
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid$ numMultiprocessors",
    "TARGET_INFO_CUDA_CONTEXT_INFO": (
        "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId isGreenContext numMultiprocessors "
        "numTpcs tpcMask$ workqueueResourceId workqueueConcurrencyLimit workqueueSharingScope"
    ),
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "PROCESSES": "globalPid pid name$",
    "ThreadNames": "nameId! priority globalTid",
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"{_QUEUE} demangledName! shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY! "
        "gridZ! blockX! blockY! blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! "
        "localMemoryTotal! gridId! sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone "
        "qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy "
        "maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage tensorSizeMinusOneElements$!"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        f"{_QUEUE} bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId "
        "migrationCause graphNodeId virtualAddress copyCount"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_QUEUE} value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_QUEUE} deprecatedSyncType syncType! eventId! eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": (
        "timestamp deviceId! contextId! greenContextId streamId! correlationId globalPid eventId! eventSyncId"
    ),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start! end! eventClass! globalTid correlationId nameId overheadType!",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": (
        "start! globalPid! deviceId! contextId! address! pc! bytes! memKind! memoryOperationType! name$ correlationId "
        "streamId localMemoryPoolAddress localMemoryPoolReleaseThreshold localMemoryPoolSize "
        "localMemoryPoolUtilizedSize importedMemoryPoolAddress importedMemoryPoolProcessId"
    ),
    "NVTX_EVENTS": (
        "start! end eventType! rangeId category color text$ globalTid endGlobalTid textId domainId uint64Value "
        "int64Value doubleValue% uint32Value int32Value floatValue% jsonTextId jsonText$ binaryData$"
    ),
    "NVTX_PAYLOAD_SCHEMAS": "domainId schemaId name$ type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
        "domainId! schemaId! idx! flags type name$ description$ arrayOrUnionDetail offset"
    ),
    "OSRT_API": (
        "start! end! eventClass! globalTid correlationId nameId! returnValue nestingLevel callchainId argumentsId"
    ),
    "META_DATA_CAPTURE": "name$! value$",
    "META_DATA_EXPORT": "name$! value$",
}  # fmt: skip
#: Tables of names by number, ``ENUM_...``, have no entry of their own.
SCHEMA: Final = Schema(TABLES, strings="StringIds", others="id@ name$ label$")
