"""Every check: where it says something, where it just does not, and where it lacks facts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from stepscope.doctor.examine import CHECKS, examine
from stepscope.doctor.facts import UNLIMITED, Facts, Gpu, UsedPlace

BY_NAME = {one.name: one for one in CHECKS}
GIB = 1 << 30
H100 = {"name": "H100", "capability": (9, 0)}
NODES = {0: frozenset(range(4)), 1: frozenset(range(4, 8))}


def env(**variables: str) -> Facts:
    return Facts(environ=variables)


def gpus(*given: dict[str, Any], **more: Any) -> Facts:
    return Facts(gpus=tuple(Gpu(index, **one) for index, one in enumerate(given)), **more)


def place(use: str, **given: Any) -> Facts:
    return Facts(places=(UsedPlace(use, "/p", **given),))


def numa(allowed: range, near: int = 0, **more: Any) -> Facts:
    return Facts(nodes=NODES, allowed=frozenset(allowed), device_nodes={"0": near}, **more)


def network(**variables: str) -> Facts:
    own = frozenset(("127.0.0.1", "192.0.2.1", "fe80::1"))
    return Facts(environ=variables, interfaces=("eth0", "lo"), addresses=own, infiniband=("mlx5_0", "mlx5_1"))


#: Check, level of what it says, facts where it does, and facts where it just does not.
CASES: list[tuple[str, str, Facts, Facts]] = [
    (
        "gpu-driver",
        "error",
        gpus({"driver": (524, 9)}, torch_cuda=(12, 6)),
        gpus({"driver": (525, 60)}, torch_cuda=(12, 6)),
    ),
    ("gpu-driver", "error", gpus({"driver": (579,)}, torch_cuda=(13, 0)), gpus({"driver": (579,)}, torch_cuda=(12, 9))),
    ("gpu-build", "error", gpus(H100, torch_cuda=(0, 0)), gpus(torch_cuda=(0, 0))),
    ("gpu-build", "error", gpus(H100, torch_cuda=(11, 7)), gpus(H100, torch_cuda=(11, 8))),
    (
        "torch-version",
        "warning",
        gpus(H100, packages={"torch": "2.1.2+cu121"}),
        gpus(H100, packages={"torch": "2.2.0"}),
    ),
    ("kernel-version", "warning", Facts(kernel=(5, 4, 300)), Facts(kernel=(5, 5))),
    ("gpu-persistence", "info", gpus({"persistent": False}), gpus({"persistent": True})),
    (
        "gpu-power",
        "warning",
        gpus({"power_limit_w": 600.0, "power_default_w": 700.0}),
        gpus({"power_limit_w": 665.0, "power_default_w": 700.0}),
    ),
    (
        "gpu-clocks",
        "info",
        gpus({"clock_mhz": 1000, "clock_default_mhz": 1980}),
        gpus({"clock_mhz": 1881, "clock_default_mhz": 1980}),
    ),
    ("gpu-slowed", "warning", gpus({"slowed": ("heat",)}), gpus({"slowed": ()})),
    ("gpu-link", "warning", gpus({"link_width": 8, "link_most": 16}), gpus({"link_width": 16, "link_most": 16})),
    ("gpu-in-use", "warning", gpus({"used_mib": 1025}), gpus({"used_mib": 1024})),
    ("gpu-divided", "info", gpus({"divided": True}), gpus({"divided": False})),
    ("amd-build", "error", Facts(amd_gpus=("0",), torch_hip=(0, 0)), Facts(amd_gpus=("0",), torch_hip=(6, 4))),
    ("amd-access", "error", Facts(amd_gpus=("0",), amd_open=False), Facts(amd_gpus=("0",), amd_open=True)),
    (
        "amd-visible",
        "info",
        Facts(amd_gpus=("0",), environ={"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}),
        Facts(amd_gpus=("0",), environ={"HIP_VISIBLE_DEVICES": "1"}),
    ),
    ("iommu", "warning", Facts(iommu={"0": "DMA", "1": "DMA-FQ"}), Facts(iommu={"0": "identity", "1": "DMA"})),
    (
        "npu-environment",
        "error",
        Facts(npus=8, environ={"ASCEND_HOME_PATH": "/gone"}, cann_missing=("ASCEND_HOME_PATH",)),
        Facts(npus=0, environ={"ASCEND_HOME_PATH": "/gone"}, cann_missing=("ASCEND_HOME_PATH",)),
    ),
    ("npu-package", "error", Facts(npus=8, packages={"torch": "2.1.0"}), Facts(npus=0, packages={"torch": "2.1.0"})),
    (
        "npu-package",
        "error",
        Facts(npus=8, packages={"torch": "2.4.0", "torch-npu": "2.1.0.post12"}),
        Facts(npus=8, packages={"torch": "2.1.0", "torch-npu": "2.1.0.post12"}),
    ),
    ("npu-environment", "error", Facts(npus=8), Facts(npus=8, environ={"ASCEND_HOME_PATH": "/usr/local/Ascend"})),
    (
        "npu-affinity",
        "warning",
        Facts(npus=8, nodes=NODES),
        Facts(npus=8, nodes=NODES, environ={"CPU_AFFINITY_CONF": "1"}),
    ),
    ("npu-health", "error", Facts(npu_health={0: "OK", 1: "Alarm"}), Facts(npu_health={0: "OK"})),
    ("npu-in-use", "warning", Facts(npu_processes=1), Facts(npu_processes=0)),
    (
        "npu-driver",
        "error",
        Facts(environ={"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"}, npu_driver=(22, 0, 4)),
        Facts(environ={"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"}, npu_driver=(23, 0)),
    ),
    ("debug-switches", "error", env(CUDA_LAUNCH_BLOCKING="1"), env(CUDA_LAUNCH_BLOCKING="0")),
    ("debug-switches", "error", env(ASCEND_LAUNCH_BLOCKING="1"), env(ASCEND_LAUNCH_BLOCKING="")),
    ("debug-switches", "error", env(TORCH_DISTRIBUTED_DEBUG="DETAIL"), env(TORCH_DISTRIBUTED_DEBUG="INFO")),
    ("debug-switches", "warning", env(ASCEND_GLOBAL_LOG_LEVEL="1"), env(ASCEND_GLOBAL_LOG_LEVEL="3")),
    ("misspelt-variables", "warning", env(NCCL_SOCKET_IFNAMES="eth0"), env(NCCL_SOCKET_IFNAME="eth0")),
    ("misspelt-variables", "warning", env(HCCL_BUFSIZE="200"), env(HCCL_BUFFSIZE="200")),
    ("misspelt-variables", "warning", env(OMP_NUM_THREAD="8"), env(MY_NUM_THREADS="8", NCCL_PLUGIN_OF_MINE="1")),
    ("misspelt-variables", "warning", env(PYTORCH_CUDA_ALOC_CONF="a"), env(PYTORCH_CUDA_ALLOC_CONF="a", PYTORCH_X="1")),
    (
        "allocator-settings",
        "error",
        env(PYTORCH_CUDA_ALLOC_CONF="expandable_segment:True"),
        env(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"),
    ),
    (
        "allocator-settings",
        "error",
        env(PYTORCH_ALLOC_CONF="max_split_size_mb:20"),
        env(PYTORCH_ALLOC_CONF="max_split_size_mb:21"),
    ),
    (
        "allocator-settings",
        "error",
        env(PYTORCH_ALLOC_CONF="garbage_collection_threshold:1"),
        env(PYTORCH_ALLOC_CONF="garbage_collection_threshold:0.9"),
    ),
    (
        "allocator-settings",
        "error",
        env(PYTORCH_ALLOC_CONF="max_split_size_mb:big"),
        env(PYTORCH_ALLOC_CONF="roundup_power2_divisions:[256:1,512:2,>:8]"),
    ),
    (
        "allocator-settings",
        "error",
        env(PYTORCH_NPU_ALLOC_CONF="expandable_segments:True,max_split_size_mb:64"),
        env(PYTORCH_NPU_ALLOC_CONF="expandable_segments:False,max_split_size_mb:64"),
    ),
    (
        "allocator-settings",
        "info",
        env(PYTORCH_ALLOC_CONF="expandable_segments:True,max_split_size_mb:64"),
        env(PYTORCH_ALLOC_CONF="expandable_segments:True,backend:native"),
    ),
    (
        "allocator-settings",
        "warning",
        env(PYTORCH_ALLOC_CONF="backend:native", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync"),
        env(PYTORCH_ALLOC_CONF="backend:native", PYTORCH_CUDA_ALLOC_CONF="backend:native"),
    ),
    ("nccl-transports", "error", env(NCCL_P2P_DISABLE="1"), env(NCCL_P2P_DISABLE="0")),
    ("nccl-transports", "info", env(NCCL_NVLS_ENABLE="0"), env(NCCL_NVLS_ENABLE="2")),
    (
        "nccl-transports",
        "error",
        Facts(environ={"NCCL_IB_DISABLE": "1"}, infiniband=("mlx5_0",)),
        Facts(environ={"NCCL_IB_DISABLE": "1"}, infiniband=()),
    ),
    ("nccl-transports", "warning", env(NCCL_SOCKET_IFNAME="=lo"), env(NCCL_SOCKET_IFNAME="^lo,docker")),
    ("nccl-tuning", "info", env(NCCL_ALGO="Ring"), env(NCCL_IB_HCA="mlx5")),
    ("nccl-debug", "warning", env(NCCL_DEBUG="TRACE"), env(NCCL_DEBUG="WARN")),
    ("nccl-debug", "info", env(NCCL_DEBUG="INFO"), env(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE="/tmp/nccl.%h.%p")),
    (
        "gpu-direct-rdma",
        "warning",
        gpus(H100, infiniband=("mlx5_0",), modules=frozenset(), kernel=(5, 11)),
        gpus(H100, infiniband=("mlx5_0",), modules=frozenset({"nvidia_peermem"}), kernel=(5, 11)),
    ),
    ("hccl-values", "error", env(HCCL_RDMA_TC="130"), env(HCCL_RDMA_TC="132")),
    ("hccl-values", "error", env(HCCL_RDMA_SL="8"), env(HCCL_RDMA_SL="7")),
    ("hccl-values", "error", env(HCCL_BUFFSIZE="200MB"), env(HCCL_BUFFSIZE="200")),
    ("hccl-values", "error", env(HCCL_CONNECT_TIMEOUT="7201"), env(HCCL_CONNECT_TIMEOUT="7200")),
    (
        "hccl-values",
        "error",
        env(HCCL_INTRA_PCIE_ENABLE="1", HCCL_INTRA_ROCE_ENABLE="1"),
        env(HCCL_INTRA_PCIE_ENABLE="0", HCCL_INTRA_ROCE_ENABLE="1"),
    ),
    ("hccl-priority", "info", env(HCCL_RDMA_TC="132"), env(HCCL_RDMA_TC="132", HCCL_RDMA_SL="4")),
    (
        "threads-contend",
        "warning",
        Facts(cpus=8, program=("torchrun", "--nproc-per-node=2", "t.py"), environ={"OMP_NUM_THREADS": "5"}),
        Facts(cpus=8, program=("torchrun", "--nproc_per_node", "2", "t.py"), environ={"OMP_NUM_THREADS": "4"}),
    ),
    (
        "threads-default",
        "info",
        Facts(cpus=8, environ={"LOCAL_WORLD_SIZE": "4"}),
        Facts(cpus=7, environ={"LOCAL_WORLD_SIZE": "4"}),
    ),
    ("cpu-limit", "warning", Facts(cpus=64, cpu_quota=8.0), Facts(cpus=64, cpu_quota=64.0)),
    (
        "cpu-limit",
        "warning",
        Facts(cpus=64, allowed=frozenset(range(9)), cpu_quota=8.0),
        Facts(cpus=64, cpu_quota=math.inf),
    ),
    ("cpu-throttled", "warning", Facts(throttled=0.06), Facts(throttled=0.05)),
    ("cpus-per-rank", "warning", Facts(cpus=3), Facts(cpus=4)),
    (
        "cpus-per-rank",
        "warning",
        gpus({}, {}, cpus=7, program=("torchrun", "--nproc-per-node", "gpu")),
        gpus({}, {}, cpus=8, program=("torchrun", "--nproc-per-node", "gpu")),
    ),
    ("numa-binding", "info", numa(range(5)), numa(range(4))),
    ("numa-far", "warning", numa(range(4, 8)), numa(range(3, 8))),
    ("numa-unknown", "info", numa(range(8), near=-1), numa(range(8))),
    ("numa-balancing", "info", numa(range(8), numa_balancing=True), numa(range(8), numa_balancing=False)),
    (
        "cpu-governor",
        "info",
        Facts(governors=frozenset({"powersave", "performance"})),
        Facts(governors=frozenset({"performance"})),
    ),
    ("shared-memory", "error", Facts(shared=64 << 20), Facts(shared=2 * GIB)),
    ("shared-memory", "warning", Facts(shared=2 * GIB - 1), Facts(shared=2 * GIB)),
    ("memory-limit", "warning", Facts(memory_limit=100, memory_used=91), Facts(memory_limit=100, memory_used=90)),
    ("memory-limit", "warning", Facts(memory_limit=100, memory_used=99), Facts(memory_limit=UNLIMITED, memory_used=99)),
    ("memory-killed", "warning", Facts(killed=1), Facts(killed=0)),
    ("swap", "warning", Facts(swapped=GIB + 1), Facts(swapped=GIB)),
    ("huge-pages", "info", Facts(huge_pages="never"), Facts(huge_pages="madvise")),
    ("open-files", "warning", Facts(limits={"Max open files": 1024}), Facts(limits={"Max open files": 4096})),
    ("processes", "warning", Facts(limits={"Max processes": 4095}), Facts(limits={"Max processes": UNLIMITED})),
    (
        "locked-memory",
        "error",
        Facts(limits={"Max locked memory": 65536}, infiniband=("mlx5_0",)),
        Facts(limits={"Max locked memory": 65536}, infiniband=()),
    ),
    ("data-shared", "info", place("data", file_system="nfs4"), place("data", file_system="xfs")),
    (
        "data-rotating",
        "warning",
        place("data", file_system="ext4", rotating=True),
        place("data", file_system="ext4", rotating=False),
    ),
    ("cache-shared", "warning", place("compiled", file_system="lustre"), place("compiled", file_system="ext4")),
    ("disk-space", "warning", place("output", free=20 * GIB - 1), place("output", free=20 * GIB)),
    ("nccl-values", "error", env(NCCL_IB_TIMEOUT="3600"), env(NCCL_IB_TIMEOUT="31")),
    ("nccl-values", "error", env(NCCL_IB_QPS_PER_CONNECTION="129"), env(NCCL_IB_QPS_PER_CONNECTION="128")),
    ("nccl-values", "error", env(NCCL_CGA_CLUSTER_SIZE="9"), env(NCCL_CGA_CLUSTER_SIZE="8")),
    ("nccl-values", "error", env(NCCL_DEBUG="warning"), env(NCCL_DEBUG="ATTN")),
    ("nccl-values", "error", env(NCCL_NTHREADS="100"), env(NCCL_NTHREADS="512")),
    ("nccl-values", "error", env(NCCL_IB_TC="256"), env(NCCL_IB_TC="0x60")),
    ("nccl-values", "error", env(NCCL_IB_TC="-2"), env(NCCL_IB_TC="-1")),
    ("nccl-values", "error", env(NCCL_IB_SL="16"), env(NCCL_IB_SL="-1")),
    ("nccl-values", "error", env(NCCL_BUFFSIZE="4M"), env(NCCL_BUFFSIZE="4194304")),
    ("nccl-values", "error", env(NCCL_ALGO="rings"), env(NCCL_ALGO="allreduce:tree,CollnetDirect;broadcast:ring")),
    ("nccl-values", "error", env(NCCL_PROTO="LL256"), env(NCCL_PROTO="^LL128")),
    ("nccl-values", "error", env(NCCL_P2P_LEVEL="NVLINK"), env(NCCL_P2P_LEVEL="5", NCCL_NET_GDR_LEVEL="SYS")),
    (
        "nccl-values",
        "error",
        env(NCCL_SOCKET_NTHREADS="16", NCCL_NSOCKS_PERTHREAD="8"),
        env(NCCL_SOCKET_NTHREADS="8", NCCL_NSOCKS_PERTHREAD="8"),
    ),
    ("hccl-values", "error", env(HCCL_RDMA_TIMEOUT="25"), env(HCCL_RDMA_TIMEOUT="24")),
    ("hccl-values", "error", env(HCCL_RDMA_RETRY_CNT="0"), env(HCCL_RDMA_RETRY_CNT="7")),
    ("hccl-values", "error", env(HCCL_RDMA_QPS_PER_CONNECTION="33"), env(HCCL_RDMA_QPS_PER_CONNECTION="32")),
    ("hccl-values", "error", env(HCCL_IF_BASE_PORT="65521"), env(HCCL_IF_BASE_PORT="65520")),
    ("hccl-values", "error", env(HCCL_IF_BASE_PORT="1023"), env(HCCL_IF_BASE_PORT="1024")),
    ("hccl-values", "error", env(HCCL_SOCKET_FAMILY="IPv4"), env(HCCL_SOCKET_FAMILY="AF_INET")),
    ("interfaces-missing", "error", network(NCCL_SOCKET_IFNAME="ens"), network(NCCL_SOCKET_IFNAME="ens,eth")),
    ("interfaces-missing", "error", network(NCCL_SOCKET_IFNAME="=eth"), network(NCCL_SOCKET_IFNAME="=eth0")),
    ("interfaces-missing", "error", network(HCCL_SOCKET_IFNAME="^eth,lo"), network(HCCL_SOCKET_IFNAME="^=eth,lo")),
    ("interfaces-missing", "error", network(GLOO_SOCKET_IFNAME="eth0,eth1"), network(GLOO_SOCKET_IFNAME="eth0,lo")),
    ("interfaces-missing", "error", network(NCCL_OOB_NET_IFNAME="ens"), network(NCCL_OOB_NET_IFNAME="=mlx5_1:1")),
    ("interfaces-missing", "error", network(NCCL_IB_HCA="mlx4"), network(NCCL_IB_HCA="=mlx5_0:1,mlx5_9")),
    (
        "interfaces-missing",
        "error",
        Facts(environ={"NCCL_IB_HCA": "mlx5"}, interfaces=("eth0",), infiniband=()),
        Facts(environ={"NCCL_IB_HCA": "mlx5"}, interfaces=("eth0",)),
    ),
    ("interfaces-missing", "error", network(HCCL_IF_IP="192.0.2.2"), network(HCCL_IF_IP="192.0.2.1")),
    ("interfaces-missing", "error", network(HCCL_IF_IP="eth0"), network(HCCL_IF_IP="FE80::1%eth0")),
    (
        "preloaded-libraries",
        "error",
        Facts(environ={"LD_PRELOAD": "libtcmalloc.so.4"}, preload_missing=("libtcmalloc.so.4",)),
        Facts(environ={"LD_PRELOAD": "libtcmalloc.so.4"}, preload_missing=()),
    ),
]
#: Checks of variables alone, which are always known.
OF_VARIABLES = {
    "debug-switches", "misspelt-variables", "allocator-settings", "nccl-transports", "nccl-tuning", "nccl-debug",
    "hccl-values", "hccl-priority", "nccl-values", "interfaces-missing", "preloaded-libraries",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "level", "speaks", "silent"), CASES, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_check(name: str, level: str, speaks: Facts, silent: Facts) -> None:
    said = BY_NAME[name].look(speaks)
    assert said is not None
    assert [one.level for one in said] == [level]
    assert BY_NAME[name].look(silent) == []


def test_variables_of_others_are_not_misspelt() -> None:
    """Those that images of NVIDIA and launchers set, former names, and names that two libraries share."""
    names = (
        "NCCL_VERSION NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT HCCL_ALGO NCCL_ALGO PYTORCH_VERSION PYTORCH_HOME"
        " PYTORCH_BUILD_VERSION PYTORCH_BUILD_NUMBER PYTORCH_TUNABLEOP_ENABLED TORCH_CUDA_ARCH_LIST TORCH_HOME"
        " NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES NVIDIA_PYTORCH_VERSION OMPI_MCA_coll_hcoll_enable"
        " TORCHELASTIC_RUN_ID TORCH_DISTRIBUTED_DEBUG PYTHONPATH PYTHON_VERSION NUMEXPR_NUM_THREADS HF_HOME"
        " TOKENIZERS_PARALLELISM NCCL_NET_PLUGIN NCCL_IB_HCA OPENBLAS_NUM_THREADS NCCL_MAX_NRINGS NCCL_ENV_PLUGIN"
    )
    assert BY_NAME["misspelt-variables"].look(env(**dict.fromkeys(names.split(), "1"))) == []


def test_every_check_has_a_case() -> None:
    assert {name for name, *_ in CASES} == set(BY_NAME)


def test_what_lacks_facts_says_so() -> None:
    findings = examine(Facts())
    assert findings.advice == ()
    assert {one.name for one in findings.fine} == OF_VARIABLES
    assert {one.name for one in findings.unknown} == set(BY_NAME) - OF_VARIABLES


def test_gpus_that_tell_nothing_are_unknown() -> None:
    assert BY_NAME["gpu-power"].look(gpus({})) is None
    assert BY_NAME["gpu-power"].look(gpus()) == []


def test_interfaces_that_are_named_on_an_unknown_machine() -> None:
    assert BY_NAME["interfaces-missing"].look(env(NCCL_SOCKET_IFNAME="eth0")) is None
    assert BY_NAME["preloaded-libraries"].look(env(LD_PRELOAD="a.so")) is None


def test_the_most_serious_comes_first() -> None:
    facts = Facts(environ={"NCCL_ALGO": "Ring", "CUDA_LAUNCH_BLOCKING": "1", "HCCL_BUFSIZE": "1"})
    assert [one.level for _, one in examine(facts).advice] == ["error", "warning", "info"]
