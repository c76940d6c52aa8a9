"""Collectives of every library, and which collective a name says it is."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "collectives",
    (
        *(
            "ccl",
            "reduce",
            "shmem",
            "gather",
            "all2all",
            "alltoall",
            "all_to_all",
            "all-to-all",
            "collective-",
            "dispatch",
            "combine",
            "deepmoe",
            "deep_moe",
            "megamoe",
            "mega_moe",
            "barrier",
        ),
        *("multimem", "symm", "lamport", "userbuffers", "one_shot", "oneshot", "two_shot", "twoshot", "ep::"),
        *("deepep", "deep_ep", "mori", "pplx", "ctran", "gloo", "c10d", "mpi:", "ucc", "ucx", "flashcomm"),
        *("param_comms", "hcom_"),
    ),
    (
        # Ascend's GEMMs fused with communication count as compute, as in its vendor's tools.
        rule(
            "gemm",
            r"matmul\w*(?:allreduce|allgather|reducescatter|alltoall)|(?:allgather|alltoall)\w*matmul",
            r"dispatch_?(?:ffn|gmm|mlp)\w*combine|(?:fused_?deep|mega)_?moe",
        ),
        # Kernels that only look like a collective by their words.
        rule("elementwise", r"embedding.*all_?to_?all.*(?:pooled|permute)"),
        rule(
            "collective",
            r"^(?:nccl|rccl|msccl|ncclx|ctran)(?:[a-z_:\d]|pp|dev|$)",
            r"^(?:gloo|c10d|mpi|ucc|ucx):",
        ),
        rule("collective", r"^hcom_", r"^hccl", r"^lccl", r"^(?:one)?ccl(?:_|::)", r"^oneapi::ccl"),
        rule("collective", r"(?:^|::|_)(?:nvshmem|rocshmem|ishmem|shmem)"),
        rule(
            "collective",
            r"(?:cross_device|one_?shot|two_?shot|one_stage|two_stage|custom)_?(?:all_?)?_?reduce",
        ),
        rule("collective", r"(?:^|[:_])(?:multimem|symm?_mem|lamport|k?userbuffers|quickreduce|quick_reduce)"),
        rule(
            "collective",
            r"(?:trtllm_|mnnvl_)?all_?reduce_(?:fusion|fused|kernel|prototype)",
            r"(?:^|::)all_?reduce",
        ),
        rule("collective", r"(?:^|::|_)(?:deep_?ep|mori|pplx|uccl|flashcomm|buffer_v2)::", r"^deep_?ep"),
        rule(
            "collective",
            r"(?:^|::)(?:notify_|cached_notify_)?(?:ep_|moe_)?(?:dispatch|combine)(?:_kernel|_forward)?$",
        ),
        # TensorRT-LLM's exchange of tokens between ranks waits for them inside the kernel.
        rule("collective", r"moe_?a2a(?:_?prepare)?_?(?:dispatch|combine)"),
        exact("collective", r"MoeDistribute(?:Dispatch|Combine)"),
        # Operations of XLA.
        rule("collective", r"^(?:all-(?:reduce|gather|to-all)|reduce-scatter|collective-permute)"),
        rule(
            "collective",
            r"(?:^|::|_)(?:all_?gather|reduce_?scatter|all_?to_?all(?:v|_single)?|all2all)",
        ),
        exact(
            "collective",
            r"(?:AllReduce|AllGather|ReduceScatter|AllToAll|All2All)",
        ),
        rule("collective", r"(?:^|::)barrier(?:_kernel|_all)?$", r"record_param_comms"),
    ),
)

# In the order in which they are tried: the longer word first, since "reduce" is in three of them.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("reduce_scatter", r"reduce[_-]?scatter"),
        ("all_gather", r"all[_-]?gather"),
        (
            "all_reduce",
            r"all[_-]?reduce|cross_device_reduce|(?:one|two)_?shot|userbuffers\w*sum|quick_?reduce|lamport",
        ),
        ("all_to_all", r"all[_-]?to[_-]?all|all2all|alltoall"),
        ("broadcast", r"broadcast|(?<![a-z])bcast"),
        ("send_recv", r"send_?recv|batch_?send_?recv|collective-permute"),
        ("dispatch", r"dispatch"),
        ("combine", r"combine"),
        ("barrier", r"barrier"),
        ("send", r"(?<![a-z])send"),
        ("recv", r"(?<![a-z])(?:recv|receive)|_(?:recv|receive)"),
        ("scatter", r"scatter"),
        ("gather", r"gather"),
        ("reduce", r"reduce"),
        ("put", r"(?<![a-z])put(?![a-z])"),
    )
)


def kind(path: str) -> str | None:
    """Which collective a kernel of this family runs.

    Returns:
        `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`, `broadcast`, `send_recv`, `send`, `recv`,
        `reduce`, `gather`, `scatter`, `dispatch` or `combine` (expert parallelism), `barrier` or `put`; None
        where the name does not say, as for `ncclDevKernel_Generic`.
    """
    for found, pattern in _KINDS:
        if pattern.search(path):
            return found
    return None
