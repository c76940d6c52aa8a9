"""Purpose of memory from the call stack that allocated it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Category of memory allocated in a frame: (category, pattern over `file(line): function`).
_CATEGORIES: Final = tuple(
    (category, re.compile(pattern))
    for category, pattern in (
        ("kv_cache", r"(?i:kv_?cache|cache_engine|cache_utils\.py|/mem_cache/|kv_?pool)"),
        ("workspace", r"getCurrentCUDABlas|WorkspaceSize|getCUDABlasLtWorkspace|(?:cublas|cudnn|hipblas)\w*Handle"),
        ("autotune", r"torch/_inductor/\S*(?:autotun|select_algorithm|benchmark|pad_mm)"),
        (
            "optimizer",
            r"torch/optim/|/optim(?:izer)?s?[^/]*(?:/\S+|\.py\(\d+\)): (?:(?:\w+ )?step|__init__)$|apex/optimizers/"
            r"|bitsandbytes/optim/",
        ),
        ("data", r"torch/utils/data/|/data_?loader\S*\.py"),
        ("collective", r"ProcessGroup\w+::|torch/distributed/(?:distributed_c10d|_functional_collectives)"),
        ("backward", r"torch::autograd::(?:Engine|python::PythonEngine|Node)|torch/autograd/|: backward$"),
        ("parameter", r"torch/nn/modules/module\.py\(\d+\): (?:convert|_apply|_load_from_state_dict|to|cuda)$"),
        ("parameter", r"torch/nn/(?:init|parameter)\.py|torch/nn/\S+: (?:__init__|reset_parameters)$"),
        ("parameter", r"torch/serialization\.py|safetensors/|: load_state_dict$"),
        ("forward", r"torch/nn/modules/module\.py\(\d+\): _(?:call|wrapped_call|slow_forward)|: forward$"),
        # Tensors that user-defined layers create in their constructor.
        ("parameter", r"\.py\(\d+\): (?:__init__|reset_parameters|_?(?:init|load)_(?:\w+_)?weights?\w*)$"),
    )
)

#: Python's and PyTorch's own code: never what a user would call the place.
_MACHINERY: Final = re.compile(
    r"^(?:<frozen|.*/torch/|torch/|.*/lib/python3\.\d+/(?!site-packages|dist-packages)|.*/[Ll]ib/\w+\.py\()"
)
#: Generated code: of compilers, einops and the like, dataclasses. Notebook cells are user code.
_GENERATED: Final = re.compile(
    r"^<(?!ipython-input|stdin|ipykernel|frozen)[^>]*>|/torchinductor_\w+/|/torch_compile_debug/|/inductor_cache/"
    r"|(?:^|/)__compiled_fn|\.torch_inductor/"
)
#: A frame with a Python file; compiled code has no file, or one of another language.
_PYTHON: Final = re.compile(r"(?:\.pyx?|\.ipynb|>(?:\.\d+)?)\(-?\d+\): ")
_LIBRARY: Final = re.compile(r"(?:site|dist)-packages/")
_FORWARD: Final = re.compile(r"([^/]+)\(\d+\): forward$")
#: A backward function, or an operator, in a frame of compiled code.
_BACKWARD: Final = re.compile(r"(?<=::)\w+Backward\w*(?=::apply)")
_OPERATOR: Final = re.compile(r"at::_ops::\w+")


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A stack frame and its classification.

    Attributes:
        text: As `file(line): function`.
        place: Rank as a place to name: 0 user code, 1 library, 2 generated code, 3 backward function, 4 operator,
            5 other.
        called: Name of the place.
        module: File, if it is a `forward` outside PyTorch; else None.
        category: Purpose of memory allocated in it; None if unknown.
    """

    text: str
    place: int
    called: str
    module: str | None
    category: str | None


def frame_text(frame: Any) -> str:
    """A recorded frame as `file(line): function`."""
    if not isinstance(frame, dict):
        return "?"
    file, line, name = (frame.get(key) for key in ("filename", "line", "name"))
    text = f"{file}({line}): {name}" if file not in (None, "", "??") else f"{name}"
    node = frame.get("fx_node_name")
    if isinstance(node, str) and node:
        text += f" [{node}]"
    return text[:1000].replace("\\", "/").encode("utf-8", "replace").decode("utf-8")


def is_odd(frame: Any) -> bool:
    """Whether a recorded frame has a file, line or function of another type than PyTorch writes."""
    if not isinstance(frame, dict):
        return True
    get = frame.get
    return not (
        isinstance(get("filename", ""), str) and isinstance(get("name", ""), str) and type(get("line", 0)) is int
    )


def understood(text: str) -> StackFrame:
    """Classify a frame by its text."""
    category = next((category for category, pattern in _CATEGORIES if pattern.search(text)), None)
    if _PYTHON.search(text) and _GENERATED.search(text):
        return StackFrame(text, 2, "generated code", None, category)
    if _PYTHON.search(text) and not _MACHINERY.search(text):
        forward = _FORWARD.search(text)
        return StackFrame(text, 1 if _LIBRARY.search(text) else 0, text, forward[1] if forward else None, category)
    for place, pattern in ((3, _BACKWARD), (4, _OPERATOR)):
        if found := pattern.search(text):
            return StackFrame(text, place, found[0], None, category)
    return StackFrame(text, 5, text, None, category)


def describe(frames: Sequence[StackFrame]) -> tuple[str | None, str | None, str]:
    """Place, module and category of a stack, innermost frame first.

    The place is the innermost frame of user code, else of a library, else "generated code", without its meaningless
    lines. In threads of the backward pass it is the backward function, else the operator, else the innermost frame. The
    module is the file of the innermost `forward` outside PyTorch. The category is that of the innermost frame with one.
    """
    best = min(frames, key=lambda frame: frame.place, default=None)
    module = next((frame.module for frame in frames if frame.module), None)
    category = next((frame.category for frame in frames if frame.category), "other")
    return best.called if best else None, module, category
