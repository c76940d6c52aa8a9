"""A long chain of small pointwise operators, run one by one."""

import torch
from own_clock import CHANGED, clocked


class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 64)

    def forward(self, x):
        x = self.first(x)
        for _ in range(30):
            x = 1.001 - torch.relu(1 - 0.999 * x)
            x = 0.99 * x
        return x


torch.manual_seed(0)
torch.set_num_threads(1)
model = Chain()
if CHANGED:
    model.compile()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in clocked(range(100_000)):
    x = torch.randn(32, 64)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
