"""The loss is read in each step, which costs nothing on a processor."""

import torch
from own_clock import CHANGED, clocked

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total = 0.0
for _ in clocked(range(100_000)):
    x = torch.randn(256, 512)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not CHANGED:
        total += loss.item()
