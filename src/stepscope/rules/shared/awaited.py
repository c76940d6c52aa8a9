"""What is said of a host that waits for others, and what to try, by what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.signals.host.waits_for_others import Awaited

_ANOTHER: Final = Action(
    "See what it waits for: have several threads or processes prepare that, or make it cheaper",
    page="data-loading", needs=("python",),
    before="Thread(target=fill, args=(queue,)).start()",
    after="for _ in range(4):\n    Process(target=fill, args=(queue,)).start()   # or workers of a loader",
)  # fmt: skip
_OUTSIDE: Final = Action(
    "Ask for the next input before computing on this one; a server that waits for requests has nothing else to do",
    page="prefetching", needs=("python",),
    before="while True:\n    data = fetch()\n    use(data)",
    after="with ThreadPoolExecutor() as pool:\n    coming = pool.submit(fetch)\n    while True:\n"
    "        data, coming = coming.result(), pool.submit(fetch)\n        use(data)",
)  # fmt: skip

#: The same of ranks that exchange data through the host: together, or one with another.
EXCHANGE: Final = (
    Action(
        "Exchange gradients in fewer and larger buckets, and once per update", page="overlapping-communication",
        before="DistributedDataParallel(model, bucket_cap_mb=1)",
        after="DistributedDataParallel(model)   # buckets of 25 MiB\n"
        "with model.no_sync():  # in all but the last micro-batch\n    loss.backward()",
        needs=("gradients reduced in buckets",),
    ),
    Action(
        "Exchange more at a time: wrap larger parts of the model, and exchange once per update",
        page="overlapping-communication", needs=("fsdp",),
        before="for layer in model.layers:\n    for part in layer.children():\n        fully_shard(part)",
        after="for layer in model.layers:\n    fully_shard(layer)",
    ),
)  # fmt: skip
PAIRS: Final = (
    Action(
        "Give each rank as much work, send before the other rank needs it, and receive while computing",
        page="pipeline-parallelism",
        before="dist.send(y, 1)\ndist.recv(grad, 1)",
        after="sent = dist.isend(y, 1)\ncoming = dist.irecv(grad, 1)\n...  # the next micro-batch\ncoming.wait()",
    ),
)  # fmt: skip

AWAITED: Final[Mapping[Awaited, Action]] = {"another": _ANOTHER, "outside": _OUTSIDE}
#: A sentence that tells it.
WAITS: Final[Mapping[Awaited, str]] = {
    "another": said(" It waits there for another thread or process."),
    "outside": said(" It waits there for a connection, for input or for a point in time."),
}
