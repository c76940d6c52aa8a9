"""Packages of the program's Python, which is asked without importing any of them."""

from __future__ import annotations

import json
import sys
from pathlib import PurePath
from typing import Any, Final

from stepscope.doctor.machine import Machine, version

#: Tells the versions of packages, and the CUDA and ROCm that PyTorch was built with, from its text.
_QUESTION: Final = """
import importlib.metadata, importlib.util, json, pathlib, re
found = {}
for name in %r:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
built = [None, None]
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin:
    text = (pathlib.Path(spec.origin).parent / "version.py").read_text()
    for number, name in enumerate(("cuda", "hip")):
        match = re.search(r"^" + name + r"\\b[^=\\n]*=\\s*(?:'([^']*)'|None)", text, re.MULTILINE)
        built[number] = None if match is None else match[1] or ""
print(json.dumps([found, *built]))
"""
_NAMES: Final = ("torch", "torch-npu", "torchvision", "flash-attn", "triton", "nvidia-nccl-cu12", "nvidia-nccl-cu13")


def python_of(program: tuple[str, ...]) -> str:
    """The Python that runs a program: its own where it is started by one, else the one on the PATH."""
    if program and PurePath(program[0]).name.startswith("python"):
        return program[0]
    return "python" if program else sys.executable


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    text = machine.run([python_of(machine.program), "-c", _QUESTION % (_NAMES,)])
    try:
        found, cuda, hip = json.loads((text or "").strip().splitlines()[-1])
        packages = {str(name): str(one) for name, one in found.items()}
        built = [None if one is None else (version(one) or (0, 0)) for one in (cuda, hip)]
    except (ValueError, IndexError, TypeError, AttributeError):
        return {}
    return {"packages": packages, "torch_cuda": built[0], "torch_hip": built[1]}
