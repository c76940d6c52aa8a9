"""Be in the program without torch.compile, TorchScript, exporters or the program's own modes noticing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any


class Watched:
    """A method in the `__dict__` of a class, under a descriptor that tells of the instance before it is called.

    Whoever looks the method up gets the very function that the class had, or the one that it inherits by then: what
    compares, compiles, scripts or patches it sees no difference, and no frame of ours lies around the call. Looking
    the method up is told of as well.

    Args:
        owner: The class.
        name: The method.
        tell: Called with the instance.
    """

    def __init__(self, owner: type, name: str, tell: Callable[[Any], None]) -> None:
        self._owner, self._name, self._tell = owner, name, tell
        self._own = owner.__dict__.get(name)

    def __get__(self, instance: Any, owner: type) -> Any:
        """The method, bound to the instance; the function itself if there is none."""
        if instance is not None:
            self._tell(instance)
        if self._own is None:
            return getattr(super(self._owner, owner if instance is None else instance), self._name)
        return self._own if instance is None else MethodType(self._own, instance)

    def put(self) -> bool:
        """Put it in place; whether it can be: what is no plain function is left alone."""
        if self._own is not None and not isinstance(self._own, FunctionType):
            return False
        setattr(self._owner, self._name, self)
        return True

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if self._owner.__dict__.get(self._name) is not self:
            return
        if self._own is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._own)


def stand_in(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper in the place of a function of torch's: the compiler traces the function, and never the wrapper."""
    functools.update_wrapper(wrapper, original)
    # What torch.compile inlines instead of a function that has it.
    wrapper._torchdynamo_inline = original  # type: ignore[attr-defined]
    never_compile(wrapper)
    return wrapper


def never_compile(*functions: Any) -> None:
    """Have the compiler's frame evaluation run functions as they are, though not what they call."""
    from torch._C._dynamo import eval_frame

    for one in functions:
        code: CodeType = one.__code__
        try:
            if strategy := getattr(eval_frame, "set_code_exec_strategy", None):
                skip, default = eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT
                strategy(code, eval_frame._FrameExecStrategy(skip, default))
            else:  # older than torch 2.6
                eval_frame.skip_code(code)
        except (AttributeError, TypeError):
            # A torch that has neither: the function is one more frame to it.
            return


def is_traced() -> bool:
    """Whether what runs now is being compiled, scripted, traced, exported or captured, and is no part of the loop."""
    torch: Any = sys.modules["torch"]
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return True
    guards: Any = sys.modules.get("torch._guards")
    if guards is not None:
        # `TracingContext.try_get` has a `threading.local` raise an error where there is none, ten times as long.
        local = getattr(guards, "_TLS", None)
        context = guards.TracingContext.try_get() if local is None else local.__dict__.get("tracing_context")
        if context is not None:
            return True
    symbolic: Any = sys.modules.get("torch.fx._symbolic_trace")
    if getattr(symbolic, "_is_fx_tracing_flag", False):
        return True
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


@contextmanager
def without_modes() -> Iterator[None]:
    """What this thread does within is seen by none of the program's modes for functions or for dispatch."""
    import torch

    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield
