"""Data-parallel training on processes of torchrun."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(2 * 20 * 4, 16))
model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters())
for step, (inputs,) in enumerate(DataLoader(data, batch_size=4, sampler=DistributedSampler(data))):
    with record_function(f"body {step}"):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
dist.destroy_process_group()
