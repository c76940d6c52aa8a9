"""A real training or inference loop: its kind, its steps, the one that is made slow, and by how many usual steps.

With a negative step nothing is made slow: the hooks are taken out for one of each two blocks of steps, and it prints
the processor time of so many pairs of neighbouring blocks as JSON.
"""

import itertools
import json
import random
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

from stepscope.record.job.entering import current

WARM = 20
#: Steps with hooks before any are taken out.
USUAL = 2000
#: Steps of a block with or without hooks, and before it those in which the interpreter gets used to the change.
BLOCK, SETTLE = 6, 3
batches = dataloader._BaseDataLoaderIter


def loader(width: int, steps: int) -> DataLoader:
    """Batches of 16, of which many are the same where there are many steps."""
    data = TensorDataset(torch.randn(4096, width))
    return DataLoader(data, batch_size=16, sampler=[one % 4096 for one in range(16 * min(steps, 1 << 18))])


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


def transformer(steps: int, width: int = 64):
    """Batches of a loader, a transformer's layers, AdamW and a scheduler."""
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for (batch,) in loader(8 * width, steps):
        yield
        model(batch.view(16, 8, width)).square().mean().backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def wide(steps: int):
    """The same with layers four times as wide."""
    yield from transformer(steps, 256)


def inference(steps: int):
    """A loader and no optimizer."""
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8))).eval()
    with torch.inference_mode():
        for (batch,) in loader(256, steps):
            yield
            model(batch)


KINDS = {"mlp": mlp, "convolution": convolution, "transformer": transformer, "wide": wide, "inference": inference}


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


def alternate(kind: str, pairs: int, seed: int = 0) -> None:
    """Take the hooks out of one of each two neighbouring blocks of steps, and print their processor time as JSON.

    Which of the two is drawn. What is done a few times a second falls into few blocks, and is timed by itself before.
    """
    draw = random.Random(seed)
    plan = [has for _ in range(pairs) for has in draw.choice(((True, False), (False, True)))]
    spent: dict[bool, list[float]] = {True: [], False: []}
    report, back, began, seldom = current().report, None, 0, 0
    for step, _ in enumerate(KINDS[kind](WARM + USUAL + len(plan) * (SETTLE + BLOCK) + 1)):
        at, within = divmod(step - WARM - USUAL, SETTLE + BLOCK)
        if step == WARM:
            seldom, since = report.hooks_ns, time.perf_counter_ns()
        elif within == SETTLE and at >= 0:
            began = time.process_time_ns()
        elif within == 0 and at >= 0:
            if at:
                spent[plan[at - 1]].append((time.process_time_ns() - began) / BLOCK)
            else:
                share = (report.hooks_ns - seldom) / (time.perf_counter_ns() - since)
            if at == len(plan):
                break
            if not plan[at] and back is None:
                back = without_hooks()
            elif plan[at] and back is not None:
                back = back()
    print(json.dumps({"with": spent[True], "without": spent[False], "share": share}))


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
