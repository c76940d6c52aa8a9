"""The elementary function a kernel computes, in PyTorch's words, and whether it only changes a tensor's layout.

Needed to recognise unfused operations: an `elementwise` kernel may be one step of an unfused activation, a `reduction`
the middle of an unfused softmax.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stepscope.model.kernel_names.families.ascend import op_type
from stepscope.model.kernel_names.parse import KernelName, parse
from stepscope.model.kernel_names.short import short

_APPLIED = re.compile(r"<(\w+)>$")
_SOFTMAX = re.compile(r"softmax_?warp_(forward|backward)|softmax_?(forward|backward)|(?:^|_)softmax", re.IGNORECASE)
# The fifth argument of `softmax_warp_*` says whether it takes the logarithm.
_LOGARITHM = re.compile(r"LogSoftMax|^<[^<>,]+,[^<>,]+,[^<>,]+,[^<>,]+, ?(?:\(bool\)1|true)")
_COUNTER = re.compile(r"(?<=[a-z])\d+$")
_ENDING = re.compile(r"(?:v\d|aicore|aicpu|custom|kernel|cuda|impl|scalar|tensorscalar|ext\d?)+$")
#: cuDNN's conversions around a convolution, MIOpen's transposes for the same end, Ascend's changes of format.
_LAYOUT = re.compile(
    r"nchwToNhwc|nhwcToNchw|^batched_transpose_\d|transpose_\w*NCHW2\w+|transpose_\w*2NCHW|(?:^|_)TransData(?:_?\d+)?$"
)


@lru_cache(maxsize=65_536)
def function(name: str) -> str:
    """The function in lower case, letters and digits only: `mul`, `exp`, `softmaxbackward`, `reducemean`, `cast`.

    A kernel that no generic wrapper applies has its own name instead.
    """
    parsed = parse(name)
    if softmax := _softmax(parsed):
        return softmax
    ascend = "" if parsed.cxx or "::" in parsed.path else op_type(parsed)
    if ascend[:1].isupper():
        return normal(_COUNTER.sub("", ascend))
    applied = _APPLIED.search(short(parsed))
    return normal(applied.group(1) if applied else parsed.base)


def normal(word: str) -> str:
    """A function's name as `function` gives it."""
    plain = re.sub(r"[^a-z0-9]", "", word.lower())
    return _ENDING.sub("", plain) or plain


@lru_cache(maxsize=65_536)
def changes_layout(name: str) -> bool:
    """Whether the kernel only converts a tensor's layout for one operator."""
    parsed = parse(name)
    return _LAYOUT.search(parsed.base) is not None and "MemSet" not in parsed.base


def _softmax(name: KernelName) -> str | None:
    if not name.cxx:
        return None
    found = _SOFTMAX.search(name.base)
    if found is None:
        return None
    log = "log" if _LOGARITHM.search(name.args) else ""
    backward = "backward" if (found.group(1) or found.group(2) or "").lower() == "backward" else ""
    return f"{log}softmax{backward}"
