"""Tokens generated one by one with a small decoder."""

import torch
from own_clock import CHANGED, clocked


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(mask, float("-inf"))
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Decoder(torch.nn.Module):
    def __init__(self, width=64, layers=6, length=32):
        super().__init__()
        self.embedding = torch.nn.Embedding(256, width)
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(layers))
        self.head = torch.nn.Linear(width, 256)
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(x[:, -1])


torch.manual_seed(0)
torch.set_num_threads(1)
model = Decoder().eval()
if CHANGED:
    model.compile()
tokens = torch.zeros(1, 32, dtype=torch.long)
with torch.no_grad():
    for _ in clocked(range(100_000)):
        following = model(tokens).argmax(-1, keepdim=True)
        tokens = torch.cat([tokens[:, 1:], following], 1)
