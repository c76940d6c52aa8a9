"""Processes that train until they are killed, twenty times, at moments drawn from those around their recording."""

import os
import random
import signal
import time

import torch

TIMES = 20
draw = random.Random(3)


def train():
    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while True:
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


# What torch imports when it is first used.
torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1).zero_grad()
for _ in range(TIMES):
    child = os.fork()
    if not child:
        train()
    time.sleep(draw.uniform(0.02, 1.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
