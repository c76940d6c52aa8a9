"""A real training or inference loop: its kind, its steps, the one that is made slow, and by how many usual steps.

With a negative step nothing is made slow: the hooks are taken out for every other block of steps instead, and it prints
as JSON by which ratio the processor time of neighbouring blocks differs, with and without them, for so many pairs.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

WARM = 20
#: Steps of a block with or without hooks.
BLOCK = 10
batches = dataloader._BaseDataLoaderIter


def loader(width: int, steps: int) -> DataLoader:
    return DataLoader(TensorDataset(torch.randn(16 * steps, width)), batch_size=16)


def mlp(steps: int):
    """Batches of a loader, Adam."""
    model = torch.nn.Sequential(*(torch.nn.Linear(192, 192) for _ in range(4)))
    optimizer = torch.optim.Adam(model.parameters())
    for (batch,) in loader(192, steps):
        yield
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def convolution(steps: int):
    """No loader, SGD, gradients accumulated over two batches."""
    model = torch.nn.Sequential(*(torch.nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(2, 8, 24, 24)
    for _ in range(steps):
        yield
        optimizer.zero_grad()
        for _ in range(2):
            model(batch).square().mean().backward()
        optimizer.step()


def transformer(steps: int):
    """Batches of a loader, a transformer's layers, AdamW and a scheduler."""
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for (batch,) in loader(8 * 64, steps):
        yield
        model(batch.view(16, 8, 64)).square().mean().backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def inference(steps: int):
    """A loader and no optimizer."""
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8))).eval()
    with torch.inference_mode():
        for (batch,) in loader(256, steps):
            yield
            model(batch)


KINDS = {"mlp": mlp, "convolution": convolution, "transformer": transformer, "inference": inference}


def without_hooks() -> Callable[[], None]:
    """Take the hooks of stepscope out of the loop; what it gives puts them back."""
    kinds = [kind for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW) if "hooked" in vars(kind.step)]
    steps = [(kind, kind.step) for kind in kinds]
    hooks = {name: vars(batches)[name] for name in ("__next__", "_num_yielded")}
    for kind, step in steps:
        kind.step = step.__wrapped__
    batches.__next__ = hooks["__next__"]._own
    del batches._num_yielded

    def back() -> None:
        for kind, step in steps:
            kind.step = step
        for name, hook in hooks.items():
            setattr(batches, name, hook)

    return back


def alternate(kind: str, pairs: int) -> None:
    """Take the hooks out for every other block of steps: ratios of the processor time of neighbours."""
    times: list[int] = []
    back = None
    for step, _ in enumerate(KINDS[kind](WARM + 2 * pairs * BLOCK + 1)):
        if step < WARM or (step - WARM) % BLOCK:
            continue
        times.append(time.process_time_ns())
        # With, without, without, with: neither is always the first.
        if len(times) % 4 in (2, 3):
            back = back or without_hooks()
        elif back is not None:
            back()
            back = None
    blocks = [after - before for before, after in itertools.pairwise(times)]
    found = [(blocks[at], blocks[at + 1]) for at in range(0, len(blocks) - 1, 2)]
    ratios = [one / other if at % 2 == 0 else other / one for at, (one, other) in enumerate(found)]
    print(json.dumps({"ratios": ratios, "step_ns": median(map(min, found)) / BLOCK}))


def main() -> None:
    """Run the loop."""
    kind, steps, slow, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if slow < 0:
        alternate(kind, steps)
        return
    starts: list[int] = []
    for step, _ in enumerate(KINDS[kind](steps)):
        starts.append(time.perf_counter_ns())
        if step == slow:
            lengths = [after - before for before, after in itertools.pairwise(starts)]
            time.sleep(times * median(lengths[WARM // 2 :]) / 1e9)


main()
