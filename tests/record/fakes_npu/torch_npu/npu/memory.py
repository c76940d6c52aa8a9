import sys


def _record_memory_history(enabled="all", *args, **kwargs):
    return _record_memory_history_impl(enabled, *args, **kwargs)


def _record_memory_history_impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    from torch.cuda import memory

    memory._record_memory_history_impl(enabled, context, stacks, max_entries)


def _snapshot(device=None):
    from torch.cuda import memory

    return memory._snapshot()
