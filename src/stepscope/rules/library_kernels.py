"""What to do about kernels of PyTorch's and the vendors' libraries, whose grid and registers are not the user's."""

from __future__ import annotations

import re
from typing import Final

from stepscope.model.program import Program
from stepscope.rules.finding import Action

_LIBRARIES: Final = re.compile(
    r"\bat::|\bc10::|cudnn|miopen|cub::|thrust::|rocprim|fbgemm|cublas|rocblas|Cijk_|ck::|ck_tile|igemm_|aclnn",
    re.IGNORECASE,
)
_BATCH_NORM: Final = re.compile(r"batch_?norm", re.IGNORECASE)
_CHANNELS_LAST: Final = Action(
    "Keep tensors in channels_last: batch normalisation then divides rows among blocks, not channels alone",
    before='model = model.to("cuda")',
    after='model = model.to("cuda", memory_format=torch.channels_last)   # and its input',
    page="channels-last",
)
_MORE_PER_CALL: Final = Action(
    "Give each call more to do: a larger batch, or one call for several tensors", page="batch-size"
)


def is_library(name: str, told: Program) -> bool:
    """Whether a kernel belongs to a library that the user calls, and is not the user's own."""
    return told.pytorch and _LIBRARIES.search(name) is not None


def more_blocks(name: str) -> Action:
    """How the user of a library gets more blocks out of one of its kernels."""
    return _CHANNELS_LAST if _BATCH_NORM.search(name) else _MORE_PER_CALL
