class RemovableHandle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.pop(id(self.hook), None)


class Module:
    def __init__(self):
        self._modules, self._forward_pre_hooks, self._forward_hooks = {}, {}, {}

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        self._forward_pre_hooks[id(hook)] = hook
        return RemovableHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        assert always_call
        self._forward_hooks[id(hook)] = hook
        return RemovableHandle(self._forward_hooks, hook)

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        yield prefix, self
        for name, child in self._modules.items():
            yield from child.named_modules(prefix=f"{prefix}.{name}" if prefix else name)

    def _wrapped_call_impl(self, *args):
        return self._call_impl(*args)

    __call__ = _wrapped_call_impl

    def _call_impl(self, *args):
        for hook in list(self._forward_pre_hooks.values()):
            args = hook(self, args) or args
        result = None
        try:
            result = self.forward(*args)
        finally:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, result)
        return result
