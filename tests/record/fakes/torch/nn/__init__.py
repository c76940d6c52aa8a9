class RemovableHandle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.pop(id(self.hook), None)


class Module:
    def __init__(self):
        self._modules, self._forward_pre_hooks = {}, {}

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        self._forward_pre_hooks[id(hook)] = hook
        return RemovableHandle(self._forward_pre_hooks, hook)

    def __call__(self, *args):
        for hook in list(self._forward_pre_hooks.values()):
            args = hook(self, args) or args
        return self.forward(*args)
