"""A training program with one fault, named by its argument."""

import gc
import logging
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

fault = sys.argv[1] if len(sys.argv) > 1 else "none"
folder = Path(tempfile.mkdtemp())
for number in range(4):
    torch.save(torch.randn(256, 256), folder / f"{number}.pt")


class Images(Dataset):
    def __len__(self):
        return 20 * 16

    def __getitem__(self, index):
        if fault == "no-workers":
            # Decoding and augmenting, in the main process.
            return torch.linalg.inv(torch.randn(96, 96))[0, :64]
        if fault == "slow-loader":
            time.sleep(0.004)
        return torch.randn(64)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))

    def forward(self, inputs):
        return self.layers(inputs).square().mean()


class LoopOptimizer(torch.optim.Optimizer):
    """Updates parameter by parameter, as optimizers of examples do."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
                state["mean"].mul_(0.9).add_(parameter.grad, alpha=0.1)
                state["square"].mul_(0.999).addcmul_(parameter.grad, parameter.grad, value=0.001)
                denominator = state["square"].sqrt().add_(1e-8)
                parameter.addcdiv_(state["mean"], denominator, value=-group["lr"])


logging.basicConfig(filename=folder / "train.log", level=logging.INFO)
model = Model()
make = LoopOptimizer if fault == "optimizer-loop" else torch.optim.SGD
optimizer = make(model.parameters(), lr=1e-3)
workers = {"num_workers": 1} if fault == "slow-loader" else {}
graph = [[number, {}] for number in range(200_000)]
for step, inputs in enumerate(DataLoader(Images(), batch_size=16, **workers)):
    optimizer.zero_grad()
    loss = model(inputs)
    loss.backward()
    optimizer.step()
    if fault == "logging":
        for name, parameter in model.named_parameters():
            logging.info("step %d %s norm %.5f", step, name, parameter.grad.norm().item())
    if fault == "garbage-collection":
        gc.collect()
    if fault == "storage-wait":
        for number in range(4):
            path = folder / f"{number}.pt"
            with path.open("rb", buffering=0) as file:
                while file.read(512):
                    pass
