"""A small training job with one thing wrong: `python program.py CAUSE OUT.json`. Needs torch and nothing else."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

WIDTH, HEADS, TOKENS, BATCH, LAYERS = 128, 4, 96, 8, 3


@dataclass(frozen=True)
class Plan:
    """What the job does well or badly."""

    workers: int = 0
    read_s: float = 0.0
    logs: bool = False
    metrics: bool = False
    garbage: bool = False
    optimizer: str = "fused"
    fused: frozenset[str] = frozenset(("attention", "activation"))


PLANS: dict[str, Plan] = {
    "healthy": Plan(),
    "too-few-workers": Plan(workers=1, read_s=0.04),
    "no-workers": Plan(read_s=0.006),
    "logging": Plan(logs=True),
    "python-metrics": Plan(metrics=True),
    "garbage-collection": Plan(garbage=True),
    "optimizer-loop": Plan(optimizer="loop"),
    "unfused-attention": Plan(fused=frozenset(("activation",))),
    "unfused-activation": Plan(fused=frozenset(("attention",))),
}


class Samples(Dataset[Tensor]):
    """A few sequences over and over; reading one may take a while."""

    def __init__(self, read_s: float) -> None:
        self.read_s = read_s
        self.rows = [torch.full((TOKENS, WIDTH), number / 17) for number in range(17)]

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        if self.read_s:
            time.sleep(self.read_s)
        return self.rows[index % 17]


class Block(nn.Module):
    """A transformer block."""

    def __init__(self, fused: frozenset[str]) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.fused = fused

    def forward(self, x: Tensor) -> Tensor:
        """Attention and a feed-forward network, each with its residual."""
        batch, tokens, _ = x.shape
        heads = self.qkv(self.before(x)).view(batch, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = heads[0], heads[1], heads[2]
        if "attention" in self.fused:
            mixed = functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = torch.matmul(q, k.transpose(-2, -1)) / (WIDTH // HEADS) ** 0.5
            mixed = torch.matmul(torch.softmax(scores, dim=-1), v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.down(self.activated(self.up(self.between(x))))

    def activated(self, x: Tensor) -> Tensor:
        """GELU in its tanh form."""
        if "activation" in self.fused:
            return functional.gelu(x, approximate="tanh")
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3))))


class Many(nn.Module):
    """A model of many small parameters: what an optimizer over a loop of tensors is slow for."""

    def __init__(self, fused: frozenset[str], small: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(fused) for _ in range(LAYERS))
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(WIDTH)) for _ in range(small))

    def forward(self, x: Tensor) -> Tensor:
        """All blocks, scaled."""
        for block in self.blocks:
            x = block(x)
        return x * torch.stack(tuple(self.scales)).mean(0)


def main() -> None:
    """Run the job and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cause", choices=PLANS)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    record(PLANS[options.cause], options.out)


def record(plan: Plan, out: Path) -> None:
    """Train a few steps under the profiler."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Many(plan.fused, small=60)
    step = _step(model, plan, out.with_suffix(".log"))
    loader = DataLoader(Samples(plan.read_s), batch_size=BATCH, num_workers=plan.workers)
    hold = [{"n": [i]} for i in range(400_000)] if plan.garbage else []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=2, warmup=2, active=6),
        record_shapes=True,
        with_stack=True,
        experimental_config=_config(),
    ) as profiler:
        for number, batch in enumerate(loader):
            step(number, batch)
            profiler.step()
            if number == 10:
                break
    profiler.export_chrome_trace(str(out))
    del hold


def _config() -> Any:
    """Python's collections in the recording, where this PyTorch can record them."""
    config = torch._C._profiler._ExperimentalConfig
    try:
        return config(record_python_gc_info=True)
    except TypeError:
        return config()


def _step(model: nn.Module, plan: Plan, log: Path) -> Callable[[int, Tensor], None]:
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=1e-3,
        fused=plan.optimizer == "fused",
        foreach=False if plan.optimizer == "loop" else None,
    )

    def step(number: int, batch: Tensor) -> None:
        optimizer.zero_grad()
        result = model(batch)
        loss = functional.mse_loss(result, batch)
        loss.backward()
        optimizer.step()
        if plan.logs:
            write_log(log, number, model, loss)
        if plan.metrics:
            update_metrics(result.detach(), batch)
        if plan.garbage:
            litter()

    return step


def write_log(log: Path, number: int, model: nn.Module, loss: Tensor) -> None:
    """Write statistics of every parameter at every step."""
    rows = [
        {"name": name, "mean": p.detach().mean().item(), "std": p.detach().std().item(), "norm": p.grad.norm().item()}
        for name, p in model.named_parameters()
        if p.grad is not None
    ]
    with log.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps({"step": number, "loss": loss.item(), "parameters": rows}, indent=2) + "\n")


def update_metrics(result: Tensor, batch: Tensor) -> float:
    """The share of sequences that came out nearly right, one number after the other."""
    right = 0
    for sequence, wanted in zip(result, batch, strict=True):
        off = [abs(a - b) for a, b in zip(sequence.flatten().tolist(), wanted.flatten().tolist(), strict=True)]
        right += sum(off) < 0.1 * len(off)
    return right / len(batch)


def litter() -> None:
    """Make garbage in cycles, so that the oldest generation is collected in the step."""
    for _ in range(20):
        node: dict[str, Any] = {}
        node["self"] = node
    gc.collect()


if __name__ == "__main__":
    main()
