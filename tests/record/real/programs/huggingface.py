"""A loop in the manner of Hugging Face's Trainer: epochs, batches fetched for a whole update, evaluation in between."""

from itertools import islice

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset

ACCUMULATED = 2


class Texts(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        tokens = torch.randint(0, 50, (12,))
        return {"input_ids": tokens, "labels": tokens}


class LanguageModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.head = torch.nn.Linear(16, 50)

    def forward(self, input_ids, labels):
        logits = self.head(self.embedding(input_ids))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 0.99**step)
        self.step = 0

    def train(self, epochs):
        loader = DataLoader(Texts(), batch_size=2, shuffle=True)
        for _ in range(epochs):
            batches = iter(loader)
            for _ in range(len(loader) // ACCUMULATED):
                group = list(islice(batches, ACCUMULATED))
                with record_function(f"body {self.step}"):
                    for inputs in group:
                        self.training_step(inputs)
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.scheduler.step()
                    self.model.zero_grad()
                self.step += 1
            self.evaluate()

    def training_step(self, inputs):
        self.model.train()
        (self.model(**inputs) / ACCUMULATED).backward()

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            for inputs in DataLoader(Texts(), batch_size=8):
                self.model(**inputs)


Trainer(LanguageModel()).train(epochs=3)
