"""A training loop that makes its batches itself, by a compiled model where `compiled` is given."""

import sys

import torch
from torch.profiler import record_function

model = torch.nn.Linear(32, 4)
called = torch.compile(model, backend="eager") if "compiled" in sys.argv else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    with record_function(f"body {step}"):
        loss = called(torch.randn(8, 32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
