"""Runtime calls of every vendor, told by name."""

from __future__ import annotations

import pytest

from stepscope.model import runtime_names as names

CALLS = {
    "allocation": "cudaMalloc cudaMallocAsync cudaMallocHost cudaFree cudaFreeHost cudaHostAlloc cudaHostRegister "
    "cuMemAlloc_v2 cuMemFree_v2 cuMemCreate cuMemMap cuMemUnmap cuMemSetAccess cuMemAddressReserve hipMalloc hipFree "
    "hipHostMalloc hipExtMallocWithFlags hipMemMap aclrtMalloc aclrtMallocAlign32 aclrtFree aclrtMallocHost "
    "cudaMallocManaged zeMemAllocDevice urUSMDeviceAlloc rtMalloc",
    "synchronisation": "cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize cuStreamSynchronize "
    "cuCtxSynchronize hipDeviceSynchronize aclrtSynchronizeStream aclrtSynchronizeDevice urQueueFinish "
    "zeCommandQueueSynchronize synchronizeStream synchronize",
    "blocking copy": "cudaMemcpy cudaMemcpy2D hipMemcpy hipMemcpyWithStream cuMemcpyDtoH_v2 aclrtMemcpy",
    "launch": "cudaLaunchKernel cudaLaunchKernelExC cuLaunchKernelEx hipExtModuleLaunchKernel cudaGraphLaunch "
    "cudaMemcpyAsync hipMemcpyWithStream cudaMemsetAsync aclrtMemcpyAsync urEnqueueKernelLaunch",
    "stream wait": "cudaStreamWaitEvent hipStreamWaitEvent cuStreamWaitEvent aclrtStreamWaitEvent",
    "none": "cudaEventQuery cudaEventRecord cudaStreamQuery cudaGetDevice cudaFuncSetAttribute cuMemGetInfo "
    "hipPointerGetAttribute cudaStreamIsCapturing cudaMemPrefetch",
}

TESTS = {
    "allocation": names.is_allocation,
    "synchronisation": names.is_synchronisation,
    "blocking copy": names.is_blocking_copy,
    "launch": names.is_launch,
    "stream wait": names.is_stream_wait,
}


@pytest.mark.parametrize("kind", CALLS)
def test_calls(kind: str) -> None:
    for call in CALLS[kind].split():
        passed = {name for name, test in TESTS.items() if test(call)}
        expected = set() if kind == "none" else {kind, "launch"} if kind == "blocking copy" else {kind}
        if call == "hipMemcpyWithStream":
            expected = {"launch", "blocking copy"}
        assert passed == expected, call


def test_loading_of_kernels_is_not_the_profilers() -> None:
    assert names.is_profiler_overhead("Activity Buffer Request")
    assert not names.is_profiler_overhead("Lazy Function Loading")
    assert not names.is_profiler_overhead("Runtime Triggered Module Loading")
    assert not names.is_profiler_overhead("Command Buffer Full")
    assert not names.is_profiler_overhead("Driver Compiler")
    assert names.is_profiler_overhead("Buffer Flush")
