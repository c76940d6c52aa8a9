from .optimizer import Optimizer


class SGD(Optimizer):
    def step(self, closure=None):
        return None


__all__ = ["SGD", "Optimizer"]
