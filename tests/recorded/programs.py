"""Small programs on the CPU, recorded with PyTorch's own profiler: `python programs.py FOLDER`. Needs torch alone.

The recordings beside this file were made by PyTorch 2.13.0; names of files and hosts are left out.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, schedule

CPU = [ProfilerActivity.CPU]


class Layer(nn.Module):
    """Attention over what was seen so far, and two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.inputs, self.output = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.more = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, seen: list[Tensor]) -> Tensor:
        query, key, value = self.inputs(self.norm(x)).unsqueeze(1).chunk(3, -1)
        if seen:
            key, value = torch.cat([seen[0], key], 2), torch.cat([seen[1], value], 2)
        seen[:] = [key, value]
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=x.shape[1] > 1)
        x = x + self.output(found.squeeze(1))
        return x + self.more(x)


def generation() -> profile:
    """A prompt of 16 tokens, and 10 more, one by one; nothing is marked."""
    words, layers, head = nn.Embedding(50, 32), nn.ModuleList(Layer(32) for _ in range(2)), nn.Linear(32, 50)
    seen: list[list[Tensor]] = [[] for _ in layers]

    def following(tokens: Tensor) -> Tensor:
        x = words(tokens)
        for layer, cache in zip(layers, seen, strict=True):
            x = layer(x, cache)
        return head(x)[:, -1:].argmax(-1)

    with torch.inference_mode(), profile(activities=CPU) as recorded:
        token = following(torch.randint(0, 50, (1, 16)))
        for _ in range(10):
            token = following(token)
            if token.item() == 50:
                break
    return recorded


def denoising() -> profile:
    """Ten passes of a network with guidance, then an image in bytes; nothing is marked."""
    network = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.SiLU(), nn.GroupNorm(4, 8), nn.Conv2d(8, 4, 3, padding=1))
    with torch.no_grad(), profile(activities=CPU) as recorded:
        x = torch.randn(1, 4, 16, 16)
        for _ in range(10):
            free, guided = network(torch.cat([x, x])).chunk(2)
            x = x - 0.1 * (free + 3 * (guided - free))
            x = x + 0.01 * torch.randn_like(x)
        x.clamp(-1, 1).mul(127).byte().numpy()
    return recorded


def two_models() -> profile:
    """Six iterations in which a discriminator and a generator take turns, each with an optimizer of the same class."""
    make = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 32))
    judge = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    of_make, of_judge = torch.optim.Adam(make.parameters()), torch.optim.Adam(judge.parameters())
    loss = nn.BCEWithLogitsLoss()
    with profile(activities=CPU) as recorded:
        for _ in range(6):
            true, false = torch.randn(16, 32), make(torch.randn(16, 8))
            of_judge.zero_grad()
            (loss(judge(true), torch.ones(16, 1)) + loss(judge(false.detach()), torch.zeros(16, 1))).backward()
            of_judge.step()
            of_make.zero_grad()
            loss(judge(false), torch.ones(16, 1)).backward()
            of_make.step()
    return recorded


def zeroed_between() -> profile:
    """Three marked steps of an LSTM that zeroes its gradients after the forward pass."""
    model, head = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 10)
    optimizer = torch.optim.Adagrad([*model.parameters(), *head.parameters()])
    with profile(activities=CPU, schedule=schedule(wait=1, warmup=1, active=3)) as recorded:
        for _ in range(5):
            x, y = torch.randn(8, 50, 16), torch.randint(0, 10, (8,))
            loss = functional.cross_entropy(head(model(x)[0][:, -1]), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorded.step()
    return recorded


PROGRAMS: tuple[Callable[[], profile], ...] = (generation, denoising, two_models, zeroed_between)


def main(folder: Path) -> None:
    """Record each program."""
    for program in PROGRAMS:
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "trace.json"
            program().export_chrome_trace(str(path))
            document = json.loads(path.read_text())
        for key in ("traceName", "host_name", "trace_id"):
            document.pop(key, None)
        text = json.dumps(document, separators=(",", ":")).encode()
        with gzip.GzipFile(folder / f"{program.__name__}.json.gz", "wb", mtime=0) as file:
            file.write(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
