"""Sixteen threads, whatever the machine has."""

import os

import torch
from own_clock import CHANGED, clocked

torch.set_num_threads(len(os.sched_getaffinity(0)) if CHANGED else 16)
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(192, 192), torch.nn.ReLU()) for _ in range(24)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in clocked(range(100_000)):
    x = torch.randn(192, 192)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
