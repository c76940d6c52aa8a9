import functools

from ..autograd import record_function

HOOKS = []


def register_optimizer_step_post_hook(hook):
    HOOKS.append(hook)


class Optimizer:
    def __init__(self, params=(), defaults=None):
        if not getattr(type(self).step, "hooked", None):
            type(self).step = self.profile_hook_step(type(self).step)
            type(self).step.hooked = True

    @staticmethod
    def profile_hook_step(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self, *_ = args
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                out = func(*args, **kwargs)
                for hook in HOOKS:
                    hook(self, args, kwargs)
                return out

        return wrapper
