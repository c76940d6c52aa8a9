"""The role of each device activity in a server: attention, GEMM, experts, cache, sampling, communication, ..."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans, named, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

#: Roles by what is asked first: where several run at once, an instant belongs to the first one.
ROLES: Final = (
    "attention", "moe", "gemm", "communication", "cache", "sampling", "normalisation", "pointwise", "copy", "other",
)  # fmt: skip
#: Kernels that write, gather or index the key/value cache.
_CACHE: Final = re.compile(
    r"reshape_?and_?cache|store_?kv_?cache|concat_and_cache|swap_blocks|set_(?:mla_)?kv_buffer|append_paged_kv|kv_indices"
    r"|page_indices|transfer_kv|gather_cache|ScatterPaKvCache|kv_?cache_(?:copy|update|write)|update_?kv_?cache",
    re.IGNORECASE,
)
#: Kernels of mixtures of experts, by name: choice of experts, sorting, grouped GEMMs, sums.
_EXPERTS: Final = re.compile(
    r"(?<![a-z])moe(?![a-z]{4})|fused_?moe|matmul_ogs|finalize_matmul|expert|grouped_?(?:gemm|matmul|topk)|group_gemm"
    r"|bitmatrix|combined_routing|(?:^|_)topk_forward|topkgating|fused_?gate|moe_?(?:align|sum|sort|permute|unpermute)",
    re.IGNORECASE,
)
#: Operators, modules and functions inside which everything is the experts' work.
_AROUND_EXPERTS: Final = re.compile(
    r"\bmoe_forward|\bfused_moe|\bfused_experts|outplace_fused_experts|^nn\.Module: \w*(?:FusedMoE|Experts)_\d"
    r"|^nn\.Module: \w*(?:MoE|SparseMoe\w*Block)_\d|^\w*(?:FusedMoE|SparseMoe\w*Block)(?:_\d+)?$"
)
_SAMPLING: Final = re.compile(
    r"ArgMaxOps|argmax|top_?k_?top_?p|(?:^|_|::)(?:top_?p|min_?p)_|sampling|multinomial|gumbel|apply_penalt|"
    r"resolve_future_token_ids|rejection_sample",
    re.IGNORECASE,
)
#: Ranges, modules and functions inside which a token is chosen: of vLLM, SGLang, TensorRT-LLM and transformers.
AROUND_SAMPLING: Final = re.compile(
    r"^nn\.Module: \w*Sampler_\d|\bsampler\.py\(\d+\): (?:forward|sample|_?sample\w*)$"
    r"|(?:model_runner|py_executor|generation/utils)\.py\(\d+\): _?sample(?:_async)?$|^gpu_model_runner: sample$"
    r"|^_sample_async$|^Sample$|^aten::multinomial$"
)


def roles(trace: Trace) -> NDArray[np.int8]:
    """Position in `ROLES` of each activity, int8[n] in the order of `DeviceWork`; ask for it with `Trace.once`."""
    work = DeviceWork.of(trace)
    cache, experts, sampling = (_named_as(trace, work, pattern) for pattern in (_CACHE, _EXPERTS, _SAMPLING))
    # A replayed graph is launched as a whole, wherever that is.
    direct = ~work.in_graph
    experts |= inside(trace, work, _AROUND_EXPERTS) & direct
    sampling |= inside(trace, work, AROUND_SAMPLING) & direct
    chosen = [
        (work.are("comm") | work.is_class("collective"), "communication"),
        (work.is_class("attention"), "attention"),
        (cache, "cache"),
        (experts, "moe"),
        (sampling, "sampling"),
        (work.is_class("normalisation"), "normalisation"),
        (work.is_class("gemm", "convolution"), "gemm"),
        (work.are("copy", "set") | work.is_class("copy"), "copy"),
        (work.is_class("elementwise", "reduction", "embedding"), "pointwise"),
    ]
    masks, names = zip(*chosen, strict=True)
    return np.select(masks, [ROLES.index(name) for name in names], ROLES.index("other")).astype(np.int8)


def inside(trace: Trace, work: DeviceWork, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Whether each activity was launched inside an event of such a name, bool[n]."""
    spans = Spans(trace)
    marked = named(trace, pattern.search)
    found = np.zeros(work.event.size, np.bool_)
    if not marked.any():
        return found
    for rows in (spans.rows(work.launch), spans.rows(work.op)):
        above = rows.copy()
        # Every turn goes up by one caller, and callers are finitely many.
        while (above >= 0).any():
            found |= (above >= 0) & marked[above]
            above = np.where((above >= 0) & ~found, spans.around[above], -1)
    return found


def _named_as(trace: Trace, work: DeviceWork, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    names = trace.once(names_by_id)
    return np.isin(work.name, [number for number in np.unique(work.name).tolist() if pattern.search(names[number])])
