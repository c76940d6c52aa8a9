"""What torch.compile, TorchScript and torch.fx see of a model that is used without an optimizer, or with one."""

import copy
import sys
import threading
import time

import torch
from torch._dynamo.utils import counters


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, inputs):
        return torch.relu(self.layer(inputs))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())

    def forward(self, inputs):
        return self.blocks(inputs).sum()


torch.manual_seed(0)
model, inputs = Model(), torch.ones(2, 8)
if "trains" in sys.argv:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def function():
        optimizer.step()

    # A function around the method is compiled in another way, as PyTorch's tutorials have it.
    update = torch.compile(function if "function" in sys.argv else optimizer.step, backend="eager")
    for _ in range(20):
        model(inputs).backward()
        update()
        optimizer.zero_grad()
else:
    scripted = torch.jit.script(model)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    with torch.no_grad():
        for _ in range(20):
            compiled(inputs)
            time.sleep(0.005)
        print(scripted(inputs).item(), torch.jit.trace(model, inputs).graph)
    print(torch.fx.symbolic_trace(model).code)
    print(vars(copy.deepcopy(model)).keys(), model._forward_pre_hooks)
print({name: dict(counters[name]) for name in ("frames", "graph_break", "stats")})
print(threading.active_count())
with torch.profiler.profile():
    model(inputs)
