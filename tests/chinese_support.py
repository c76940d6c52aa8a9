"""Whether a text that is told in Chinese has English left in it beside names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.language import Said, told

#: Code, quotes of other programs, options, files and addresses.
_CODE: Final = re.compile(
    r"`[^`]*`|“[^”]*”|'[^']*'|\"[^\"]*\"|(?<![\w-])--?[a-z][\w-]*(?:=\S+)?|\S*[/_=(:@\\]\S*|\S+\.\w+\S*"
)
#: A word that is no part of a name of code.
_WORD: Final = re.compile(r"(?<![\w.:/=@$*-])[A-Za-z]?[a-z]{2,}(?:['’-][a-z]+)*(?![\w.:/=(*-])")
#: Two words of English after each other: no name that a recording has.
_PHRASE: Final = re.compile(r"(?<![\w./:-])[a-z]{2,} [a-z]{2,}(?![\w./:(-])")
#: Names of programs, units of hardware and commands that are words of English.
NAMES: Final = (
    "Windows Subsystem for Linux", "PCI Express", "Tensor Core", "Matrix Core", "AI Core", "AI CPU", "Nsight Systems",
    "Nsight Compute", "CUDA Graph", "Model Context Protocol",
)  # fmt: skip
#: What Chinese texts of the field call by its English word (docs/glossary.md), and names of tools and interfaces.
WORDS: Final = frozenset(
    (
        "rank", "step", "kernel", "token", "profiler", "trace", "host", "python", "torch", "batch", "epoch", "pass",
        "prefill", "decode", "attention", "softmax", "logits", "dropout", "autocast", "bias", "shape", "warp", "bank",
        "tile", "tiling", "workspace", "cube", "vector", "scalar", "team", "memset", "all-reduce", "gloo", "gate", "up",
        "segment", "megatron", "hopper", "inductor", "apple", "marlin", "roofline",
    )
)  # fmt: skip


def english_left(text: str, *names: str) -> list[str]:
    """Words of English in a text as it is told in Chinese.

    Args:
        text: As it was made; its values that are no texts are names of a recording, unless they are phrases.
        names: Names in it besides.
    """
    rest = told(text, "zh")
    for name in (
        *NAMES,
        *sorted((one for one in _values(text) if not _PHRASE.search(one)), key=len, reverse=True),
        *names,
    ):
        rest = rest.replace(name, " · ")
    return [word for word in _WORD.findall(_CODE.sub(" · ", rest)) if word.lower() not in WORDS]


def _values(text: Any) -> Iterator[str]:
    if not isinstance(text, Said):
        return
    for value in (*text.values.values(), *getattr(text, "parts", ()), getattr(text, "base", "")):
        if isinstance(value, Said):
            yield from _values(value)
        elif isinstance(value, str) and value.strip():
            yield value
