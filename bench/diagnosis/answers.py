"""Which findings name a fault: the rules that say what is wrong with the job, not merely that something is."""

from __future__ import annotations

#: Codes of rules by fault. A fault without codes does not slow the job: whatever is found is a false finding.
ANSWERS: dict[str, tuple[str, ...]] = {
    "allocator-churn": ("MEM005", "MEM002"),
    "clock-skew": (),
    "exposed-comm": ("COM001",),
    # Collections are recorded only beside call stacks. Elsewhere a pause of the process is all that can be named; the
    # finding says that it may be a collection.
    "few-micro-batches": ("CLU006",),
    "gc-pauses": ("HST005", "HST012"),
    "host-pauses": ("HST012",),
    "item-sync": ("SYN002",),
    "loader-jitter": ("DAT005", "DAT001", "CLU004"),
    "memory-leak": ("MEM006",),
    "no-tensor-cores": ("KRN001", "KRN002"),
    "no-workers": ("DAT001",),
    # Ascend records neither what kind of memory it was nor a task on the device: the wait for the copy is all there is.
    "pageable-copies": ("CPY001", "SYN003"),
    "python-overhead": ("HST004",),
    "slow-dispatch": ("HST001", "HST003"),
    "slow-host": ("CLU003",),
    "slow-link": ("COM002", "CLU002"),
    "slow-loader": ("DAT001", "DAT004"),
    "slow-rank": ("CLU001",),
    "small-buckets": ("COM008", "COM003"),
    "small-kernels": ("HST002", "KRN013", "KRN008", "KRN010"),
    "step-sync": ("SYN001",),
    "sync-every-op": ("SYN005",),
    "uneven-stages": ("CLU006",),
    "unfused-activation": ("KRN010", "KRN013"),
    "unfused-attention": ("KRN008",),
    "unfused-optimizer": ("HST008", "ASC005"),
}
