"""Gradients accumulated over four batches, as in many examples: a step is an update."""

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATED = 4
data = TensorDataset(torch.randn(20 * ACCUMULATED * 2, 16))
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for micro, (inputs,) in enumerate(DataLoader(data, batch_size=2)):
    with record_function(f"body {micro // ACCUMULATED}"):
        (model(inputs).square().mean() / ACCUMULATED).backward()
        if (micro + 1) % ACCUMULATED == 0:
            optimizer.step()
            optimizer.zero_grad()
