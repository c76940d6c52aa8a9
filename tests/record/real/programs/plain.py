"""A plain training loop over a loader."""

import sys

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(0)
data = TensorDataset(torch.randn(STEPS * 8, 32), torch.randint(0, 4, (STEPS * 8,)))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for step, (inputs, labels) in enumerate(DataLoader(data, batch_size=8)):
    with record_function(f"body {step}"):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")
