"""Find a preset by how people write its name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from stepscope.planning.family.presets import PRESETS

#: Spellings that lead to a preset although their letters differ: as patterns on the name without separators.
_ALIASES = (
    (r"llama3\.?1?(8|70|405)b", r"llama3-\1b"),
    (r"llama33?\.?[13]?(70)b", r"llama3-\1b"),
    (r"(?:gpt3)?175b|gpt3", "gpt3-175b"),
    (r"(?:mtnlg|megatronturing(?:nlg)?)(?:530b)?|530b", "mt-nlg-530b"),
    (r"bloom(?:176b)?", "bloom-176b"),
    (r"gptneox", "gpt-neox-20b"),
    (r"deepseekv3(?:671b)?|deepseekr1", "deepseek-v3"),
    (r"deepseekv2(?:236b)?", "deepseek-v2"),
    (r"gpt(?:1t|1000b|1008b)|1t", "gpt-1t"),
    (r"gpt22b|22b", "gpt-22b"),
    (r"qwen3(30b|235b)", None),
    (r"mixtral", "mixtral-8x7b"),
    (r"palm(?:540b)?", "palm-540b"),
)


def _plain(name: str) -> str:
    """A name without its separators, remarks in brackets and the words that say nothing."""
    text = re.sub(r"\(.*?\)", " ", name.lower())
    text = re.sub(r"\b(?:meta|facebook|mistralai|google|openai|base|instruct|chat|it|hf|model|nvidia)\b", " ", text)
    return re.sub(r"[^a-z0-9.]+", "", text)


@lru_cache(maxsize=256)
def preset(name: str) -> tuple[str, dict[str, Any]] | None:
    """The preset that a name means, with its key; None if there is none.

    Args:
        name: As people write it: `Llama 3.1 8B`, `LLAMA3_70B`, `meta-llama/Llama-2-7b-hf`, `gpt3-175b`.
    """
    wanted = _plain(name.rsplit("/", 1)[-1])
    if not wanted:
        return None
    by_plain = {_plain(key): key for key in PRESETS}
    if wanted in by_plain:
        return by_plain[wanted], PRESETS[by_plain[wanted]]
    for pattern, key in _ALIASES:
        found = re.fullmatch(pattern, wanted)
        if found is None:
            continue
        if key is None:
            started = [one for plain, one in by_plain.items() if plain.startswith(wanted)]
            return (started[0], PRESETS[started[0]]) if started else None
        full = found.expand(key)
        return full, PRESETS[full]
    started = [one for plain, one in by_plain.items() if wanted.startswith(plain) and plain[-1] == "b"]
    best = max(started, key=len, default=None)
    return (best, PRESETS[best]) if best else None
