"""Gradients accumulated over eight micro-batches, exchanged after each of them."""

import contextlib

import torch
import torch.distributed as dist
from own_clock import CHANGED, clocked
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)])
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in clocked(range(100_000)):
    optimizer.zero_grad()
    for micro in range(8):
        x = torch.randn(8, 512)
        with model.no_sync() if CHANGED and micro < 7 else contextlib.nullcontext():
            loss = model(x).square().mean() / 8
            loss.backward()
    optimizer.step()
# A rank that ends while the other one still talks to it fails it.
dist.barrier()
dist.destroy_process_group()
