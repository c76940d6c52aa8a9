"""Settings of PyTorch's caching allocators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said
from stepscope.model.suggest import choose

_COMMON: Final = {"max_split_size_mb", "garbage_collection_threshold", "expandable_segments"}
_CUDA: Final = _COMMON | {
    "backend", "roundup_power2_divisions", "roundup_bypass_threshold_mb", "max_non_split_rounding_mb",
    "pinned_use_cuda_host_register", "pinned_use_hip_host_register", "pinned_num_register_threads",
    "pinned_use_background_threads", "pinned_reserve_segment_size_mb", "graph_capture_record_stream_reuse",
    "release_lock_on_cudamalloc", "release_lock_on_hipmalloc", "per_process_memory_fraction",
    "throw_on_cudamalloc_oom", "large_segment_size_mb", "use_cuda_host_register",
}  # fmt: skip
_NPU: Final = _COMMON | {
    "base_addr_aligned_kb", "page_size", "segment_size_mb", "large_segment_size_mb", "multi_stream_lazy_reclaim",
    "pinned_mem_register", "per_process_memory_fraction", "pinned_use_background_threads",
}  # fmt: skip
_VARIABLES: Final = {
    "PYTORCH_ALLOC_CONF": _CUDA | _NPU,
    "PYTORCH_CUDA_ALLOC_CONF": _CUDA,
    "PYTORCH_HIP_ALLOC_CONF": _CUDA,
    "PYTORCH_NPU_ALLOC_CONF": _NPU,
}
#: MB up to which PyTorch takes no limit of a split.
_LEAST_SPLIT: Final = 20
#: Version from which `PYTORCH_ALLOC_CONF` is read and the others are old names.
_RENAMED: Final = "2.9"


@check(
    "allocator-settings",
    "`PYTORCH_ALLOC_CONF`, `PYTORCH_CUDA_ALLOC_CONF`, `PYTORCH_HIP_ALLOC_CONF` or `PYTORCH_NPU_ALLOC_CONF` has an"
    f" unknown option, `max_split_size_mb` of {_LEAST_SPLIT} or less, `garbage_collection_threshold` outside 0 to 1,"
    " options that exclude each other, or differs from another one",
    "[PyTorch](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management),"
    " [torch_npu](https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html)",
)
def allocator_settings(facts: Facts) -> Verdict:
    """Settings that PyTorch refuses or ignores."""
    found: list[Advice] = []
    for name, known in _VARIABLES.items():
        if name in facts.environ:
            found += _of(name, facts.environ[name], known)
    given = {name: facts.environ[name] for name in _VARIABLES if name in facts.environ and "NPU" not in name}
    if len(set(given.values())) > 1:
        text = " and ".join(f"{name}={value}" for name, value in given.items())
        found.append(
            Advice(
                "warning",
                text,
                said("only one of them is read, PYTORCH_ALLOC_CONF from {renamed} on", renamed=_RENAMED),
                "set one of them",
            )
        )
    return found


def _of(name: str, text: str, known: set[str]) -> Iterator[Advice]:
    options = dict(_options(text))
    for option, value in options.items():
        if option not in known:
            hint = choose(option, sorted(known), "see PyTorch's notes on memory management")
            yield Advice(
                "error",
                said("{name} has {option}", name=name, option=option),
                "PyTorch does not know it, and stops or ignores it",
                hint,
            )
        elif why := _wrong(option, value):
            yield Advice(
                "error",
                said("{name} has {option}:{value}", name=name, option=option, value=value),
                "PyTorch refuses it",
                why,
            )
    expands = options.get("expandable_segments", "").lower() == "true"
    others = [one for one in ("max_split_size_mb", "garbage_collection_threshold") if one in options]
    if "NPU" in name and expands and others:
        why = said("torch_npu takes expandable segments only without the other")
        yield Advice(
            "error",
            said("{name} has expandable_segments and {others}", name=name, others=others[0]),
            why,
            said("leave {others} out", others=others[0]),
        )
    elif expands and "max_split_size_mb" in options:
        why = said("segments that grow are hardly fragmented, and a limit of splits keeps blocks from being used again")
        yield Advice(
            "info",
            said("{name} has expandable_segments and max_split_size_mb", name=name),
            why,
            "leave max_split_size_mb out",
        )


def _options(text: str) -> Iterator[tuple[str, str]]:
    """Options with their values; commas within brackets divide none."""
    for part in re.split(r",(?![^\[]*\])", text):
        option, _, value = part.partition(":")
        if option.strip():
            yield option.strip(), value.strip()


def _wrong(option: str, value: str) -> str:
    """What to give instead; empty if the value is fine."""
    if option == "expandable_segments":
        return "" if value.lower() in ("true", "false") else said("give expandable_segments:True")
    if option not in ("max_split_size_mb", "garbage_collection_threshold"):
        return ""
    try:
        number = float(value)
    except ValueError:
        return said("give a number")
    if option == "max_split_size_mb":
        return "" if number > _LEAST_SPLIT else said("give more than {megabytes} MB", megabytes=_LEAST_SPLIT)
    return "" if 0 < number < 1 else said("give a share of memory between 0 and 1, as 0.8")
