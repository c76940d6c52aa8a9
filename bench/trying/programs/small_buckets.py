"""Data parallelism over gloo, with a collective for nearly every parameter."""

import torch
import torch.distributed as dist
from own_clock import CHANGED, clocked
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(60)])
model = DistributedDataParallel(model, bucket_cap_mb=25 if CHANGED else 0.01)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in clocked(range(100_000)):
    x = torch.randn(16, 64)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# A rank that ends while the other one still talks to it fails it.
dist.barrier()
dist.destroy_process_group()
