"""An allocator whose history holds what is asked of it; it is recorded as in torch, by one tensor after the other."""

import sys
import time

ENTRIES, BLOCKS, RUNS = [], [], []


def allocate(size):
    from .. import _C
    from . import OutOfMemoryError

    if size > 1 << 40:
        entry("oom", None, size, device_free=1 << 20)
        for observer in _C.OBSERVERS:
            observer(0, size, 80 << 30, 1 << 20)
        raise OutOfMemoryError("CUDA out of memory.")
    address = 4096 + sum(block["size"] for block in BLOCKS)
    BLOCKS.append({"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []})
    entry("alloc", address, size)


def entry(action, address, size, **more):
    if RUNS:
        where = {} if address is None else {"addr": address}
        times = {"time_us": time.time_ns() // 1000, "frames": [{"filename": "train.py", "line": 7, "name": "step"}]}
        ENTRIES.append({"action": action, **where, "size": size, "stream": 0, **times, **more})


def _record_memory_history(enabled="all", *args, **kwargs):
    return _record_memory_history_impl(enabled, *args, **kwargs)


def _record_memory_history_impl(
    enabled="all",
    context="all",
    stacks="all",
    max_entries=sys.maxsize,
    device=None,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
    skip_actions=None,
):
    assert enabled in (None, "state", "all")
    assert context in (None, "state", "alloc", "all")
    assert stacks in ("python", "all")
    RUNS[:] = [enabled] if enabled else []
    if not enabled:
        ENTRIES.clear()
    print("history", enabled)


def _snapshot(device=None, augment_with_fx_traces=False):
    total = sum(block["size"] for block in BLOCKS)
    segment = {
        "device": 0, "address": 4096, "total_size": total, "allocated_size": total, "active_size": total,
        "requested_size": total, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
        "is_expandable": False, "frames": [], "blocks": [dict(block) for block in BLOCKS],
    }  # fmt: skip
    return {
        "segments": [segment],
        "device_traces": [list(ENTRIES)],
        "allocator_settings": {},
        "external_annotations": [],
    }


def memory_stats_as_nested_dict(device=None):
    return {"allocated_bytes": {"all": {"peak": sum(block["size"] for block in BLOCKS)}}}
