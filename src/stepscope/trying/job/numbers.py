"""Losses, gradient norms and results of models in the first steps of a program, as seen from outside."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Any

from stepscope.record.job.unseen import is_traced, stand_in, without_modes


class FirstNumbers:
    """Keeps what backward passes start from, and the norms of gradients before updates, for the first updates.

    What it keeps stays on the device until all of it is read, so that nothing waits for it. Then its hooks are gone.

    Args:
        updates: Updates to look at.
    """

    def __init__(self, updates: int) -> None:
        self._left = updates
        self._losses: list[Any] = []
        self._norms: list[Any] = []
        self._outputs: list[Any] = []
        self._depth = 0
        self._undo: list[Any] = []
        self._counts: list[int] = []
        self._since_update = 0

    @property
    def backwards(self) -> int:
        """Backward passes per update, where that is the same for all that were seen but the first; else 0."""
        counts = set(self._counts[1:] or self._counts)
        return counts.pop() if len(counts) == 1 else 0

    def see(self) -> None:
        """Put the hooks in place."""
        import torch
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        plain = torch.autograd.backward

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._loss(tensors)
            return plain(tensors, *args, **kwargs)

        torch.autograd.backward = stand_in(plain, backward)
        handle = register_optimizer_step_pre_hook(self._update)
        self._undo = [lambda: setattr(torch.autograd, "backward", plain), handle.remove]

    def output(self, result: Any) -> None:
        """A model that no other calls has returned something."""
        if len(self._outputs) >= self._left or is_traced():
            return
        with without_modes():
            for one in _tensors(result):
                if one.is_floating_point() and one.numel():
                    self._outputs.append(one.detach().float().abs().mean())
                    return

    def read(self) -> tuple[list[float], list[float], list[float]]:
        """Losses, norms and results so far; from here on no more are kept."""
        self._stop()
        with without_modes():
            return _values(self._losses), _values(self._norms), _values(self._outputs)

    def _stop(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _loss(self, tensors: Any) -> None:
        import torch

        if self._left <= 0 or is_traced():
            return
        one = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        self._since_update += 1
        if isinstance(one, torch.Tensor) and one.numel() == 1:
            with without_modes():
                self._losses.append(one.detach().float().reshape(()).clone())

    def _update(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        import torch

        del args, kwargs
        if self._left <= 0 or is_traced():
            return
        self._left -= 1
        self._counts.append(self._since_update)
        self._since_update = 0
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        with without_modes():
            norms = [_norm(one.grad) for one in parameters if getattr(one, "grad", None) is not None]
            if norms:
                squares = [one.float().pow(2).to(norms[0].device) for one in norms]
                norm = sum(squares[1:], squares[0]).sqrt()
                # A fused optimizer takes the factor of a GradScaler away itself; others get gradients without it.
                scale = getattr(optimizer, "grad_scale", None)
                self._norms.append(norm / scale.to(norm.device) if isinstance(scale, torch.Tensor) else norm)
        if self._left <= 0:
            self._stop()


def _norm(gradient: Any) -> Any:
    if hasattr(gradient, "to_local"):
        gradient = gradient.to_local()
    gradient = gradient.detach()
    if gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return gradient.norm()


def _tensors(value: Any, depth: int = 0) -> Iterable[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one, depth + 1)


def _values(tensors: list[Any]) -> list[float]:
    """Their values; not a number for those that can't be read."""
    found = []
    for one in tensors:
        try:
            found.append(float(one))
        except Exception:  # a device that has failed, or a tensor without values
            found.append(nan)
    return found
