"""AdamW over many small parameters, tensor by tensor."""

import torch
from own_clock import CHANGED, clocked

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(150)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=CHANGED)
for _ in clocked(range(100_000)):
    x = torch.randn(4, 32)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
