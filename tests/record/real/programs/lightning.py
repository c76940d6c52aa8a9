"""A loop in the manner of Lightning: validation before training, batches fetched one ahead, updates with a closure."""

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 1)

    def training_step(self, batch):
        return self.layer(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Loops:
    def fit(self, module, loader, validation):
        self.optimizer = module.configure_optimizers()
        self.validate(module, validation, 2)
        step = 0
        for _ in range(2):
            for batch in self.one_ahead(loader):
                with record_function(f"body {step}"):

                    def closure(batch=batch):
                        loss = module.training_step(batch)
                        self.optimizer.zero_grad()
                        loss.backward()
                        return loss

                    self.optimizer.step(closure)
                step += 1

    def one_ahead(self, loader):
        batches = iter(loader)
        held = next(batches)
        for batch in batches:
            yield held
            held = batch
        yield held

    def validate(self, module, loader, limit):
        with torch.no_grad():
            for number, batch in enumerate(loader):
                if number == limit:
                    break
                module.training_step(batch)


data = TensorDataset(torch.randn(12 * 8, 16))
Loops().fit(Module(), DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=8))
