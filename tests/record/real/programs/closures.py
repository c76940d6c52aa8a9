"""Training whose optimizer calls forward and backward passes itself, several times per step."""

import sys

import torch
from torch.profiler import record_function

model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(6)), torch.nn.Linear(64, 1))
x, y = torch.randn(64, 64), torch.randn(64, 1)
optimizer: torch.optim.Optimizer = (
    torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3, history_size=4)
    if sys.argv[1:] == ["lbfgs"]
    else torch.optim.AdamW(model.parameters(), foreach=True)
)


def closure() -> torch.Tensor:
    optimizer.zero_grad()
    with record_function("what is forward"):
        loss = torch.nn.functional.mse_loss(model(x), y)
    with record_function("what is backward"):
        loss.backward()
    return loss


for step in range(16):
    with record_function(f"body {step}"):
        optimizer.step(closure)
