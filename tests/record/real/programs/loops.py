"""Training loops that are not one process reading its own loader: the first argument says which."""

import queue
import sys
import threading

import torch
from torch.profiler import profile, record_function
from torch.utils.data import DataLoader, TensorDataset

STEPS = 20


def ahead(loader):
    """Batches that another thread reads ahead of the loop."""
    batches = queue.Queue(4)

    def read():
        for one in loader:
            batches.put(one)
        batches.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (one := batches.get()) is not None:
        yield one


def train(index=0, kind="plain"):
    torch.manual_seed(index)
    model = torch.nn.Linear(32, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(STEPS * 8, 32)), batch_size=8)
    for step, (inputs,) in enumerate(ahead(loader) if kind == "background" else loader):
        with record_function(f"body {step}"):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            if kind == "crash" and step == 12:
                raise RuntimeError("crashed")
            optimizer.step()
    print(f"{kind} {index}: {sum(one.sum() for one in model.parameters()):.6f}", flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1]
    if chosen == "spawn":
        torch.multiprocessing.spawn(train, args=("spawn",), nprocs=2)
    else:
        train(kind=chosen)
    if chosen == "profiles":
        with profile() as own:
            torch.ones(4) + 1
        print(len(own.events()) > 0)
