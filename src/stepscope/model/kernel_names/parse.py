"""Split a recorded kernel name into the parts that classification uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepscope.model.kernel_names import mangled

# The qualified name ends where its template arguments or parameters start.
_HEAD = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{[^{}]*\}|[^<(\s\[{]|\{)+")
_RETURN = re.compile(r"(?:__global__ |static |inline )*(?:void|auto|int) ")
_SUFFIX = re.compile(r"(?:\.kd| \[clone .*\]|\.constprop.*)$")
# Kernels that only run the class named in their first type argument.
_WRAPPER = re.compile(
    r"(?:^|::)(?:Kernel2?|device_kernel|kentry2?|kentry_pers\w*|_kernel_agent|static_kernel|trampoline_kernel"
    r"|kernel_agent|enable_(?:sm|if_sm)\w+|kernel_impl_wrapper)$"
)
_NUMBER_ARGUMENT = re.compile(r"\s*(?:\(\w+\))?[-\d][\w]*\s*,")
_MOST_UNWRAPPED = 3
_LONGEST = 4_096


#: What replays of graphs that are recorded as a whole are called: they stand for all their kernels.
WHOLE_GRAPH = "CUDA graph "


def is_whole_graph(raw: str) -> bool:
    """Whether a name stands for all kernels of a graph."""
    return raw.startswith(WHOLE_GRAPH)


@dataclass(frozen=True, slots=True)
class KernelName:
    """Parts of a kernel name.

    Attributes:
        raw: The name as recorded.
        path: The qualified name without template arguments and parameters, wrappers such as
            `cutlass::Kernel2<...>` replaced by what they run.
        folded: `path` in lower case.
        base: The last part of `path`.
        args: Template arguments and parameters as recorded; empty if there are none.
        cxx: Whether the name is a C++ one with arguments (demangled or mangled).
    """

    raw: str
    path: str
    folded: str
    base: str
    args: str
    cxx: bool


def parse(raw: str) -> KernelName:
    """Split a kernel name; never fails, whatever the name holds."""
    name = _SUFFIX.sub("", raw.strip()[:_LONGEST])
    if name.startswith(("_ZN", "_Z")) and name[2:3].isalnum():
        path, args = _unwrap_mangled(*mangled.qualified_name(name))
        if path:
            return KernelName(raw, path, path.lower(), _base(path), args, True)
    name = _without_return_type(name)
    path, args = _unwrap(*_split(name))
    return KernelName(raw, path, path.lower(), _base(path), args, bool(args) and args[0] in "<(")


def _base(path: str) -> str:
    return path.rsplit("::", 1)[-1]


def _split(name: str) -> tuple[str, str]:
    head = _HEAD.match(name)
    if head is None:
        return name, ""
    return head.group(), name[head.end() :]


def _unwrap(path: str, args: str) -> tuple[str, str]:
    for _ in range(_MOST_UNWRAPPED):
        if not args.startswith("<") or not _WRAPPER.search(path):
            break
        at = 1
        while number := _NUMBER_ARGUMENT.match(args, at):
            at = number.end()
        inner, rest = _split(args[at:].lstrip())
        if not inner or inner[0].isdigit():
            break
        path, args = _joined(path, inner.rstrip(",>")), rest or args
    return path, args


def _unwrap_mangled(path: str, args: str) -> tuple[str, str]:
    for _ in range(_MOST_UNWRAPPED):
        if not _WRAPPER.search(path):
            break
        inner, rest = mangled.first_type(args)
        if not inner:
            break
        path, args = _joined(path, inner), rest
    return path, args


def _joined(outer: str, inner: str) -> str:
    """The inner name with the wrapper's namespace, which distinguishes cuDNN's copy of CUTLASS from CUTLASS itself."""
    space = outer.rsplit("::", 1)[0] if "::" in outer else ""
    return inner if not space or inner.startswith(space.split("::", 1)[0]) else f"{space}::{inner}"


def _without_return_type(name: str) -> str:
    if name.startswith(("std::enable_if<", "typename std::enable_if<", "decltype(")):
        end = _closing(name)
        member = re.compile(r"(?:::type)?\s+").match(name, end)
        return name[member.end() :] if member else name
    found = _RETURN.match(name)
    return name[found.end() :] if found else name


def _closing(name: str) -> int:
    """The place after the bracket that closes the first one; `>` inside parentheses is an operator."""
    stack: list[str] = []
    for token in re.finditer(r"->|[<>()]", name):
        mark = token.group()
        if mark in "<(":
            stack.append(mark)
        elif mark == ")":
            while stack and stack.pop() != "(":
                pass
        elif mark == ">" and stack and stack[-1] == "<":
            stack.pop()
        if not stack:
            return token.end()
    return len(name)
