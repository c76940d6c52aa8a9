"""What a rule or signal says of any recording names no vendor; what is said of one vendor's is chosen by platform."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "stepscope"
_VENDOR = re.compile(r"\b(Ascend|NPUs?|HCCL|CANN|msprof|mindstudio|NVIDIA|Nsight|CUPTI|NCCL|AMD|ROCm|RCCL|rocprof)\b")
#: Tools that show what a recording can't.
_COMMAND = re.compile(r"nvidia-smi|rocm-smi|npu-smi|amd-smi|pidstat|py-spy|record_function\(")
#: What is said as it stands: title and summary of a finding, message and hint of what is missing.
_SAID = ("title", "summary", "hint")


def said(path: Path) -> Iterator[str]:
    """Texts of a module that are shown whatever was recorded."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        parts: list[ast.expr] = [word.value for word in node.keywords if word.arg in _SAID]
        parts += node.args[:1] if name == "MissingInputError" else []
        for part in parts if name in ("Draft", "MissingInputError", "replace") else []:
            constants = (one for one in ast.walk(part) if isinstance(one, ast.Constant))
            yield from (one.value for one in constants if isinstance(one.value, str))


def modules() -> list[Path]:
    """Modules of rules, signals and analyses but for those of one vendor's devices."""
    found = [path for topic in ("rules", "signals", "analyses") for path in (SOURCE / topic).rglob("*.py")]
    return [path for path in found if "ascend" not in path.relative_to(SOURCE).parts]


def test_findings_and_what_is_missing_name_no_vendor() -> None:
    texts = [(path.relative_to(SOURCE).as_posix(), text) for path in modules() for text in said(path)]
    assert len(texts) > 500
    assert [(path, text) for path, text in texts if _VENDOR.search(text)] == []


def test_a_hypothesis_comes_with_what_to_run_to_prove_it() -> None:
    proofs, found = {}, 0
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        texts.remove(ast.get_docstring(tree, clean=False) or "")
        if path.parts[-3] == "rules" and any("hypothes" in text.lower() for text in texts):
            found += 1
            proofs[path.stem] = any(_COMMAND.search(text) for text in texts)
    assert found >= 4
    assert [name for name, proved in proofs.items() if not proved] == []
