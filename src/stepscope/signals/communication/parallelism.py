"""What frameworks call the groups of ranks that divide a job."""

from __future__ import annotations

import re
from typing import Final

#: The first that fits counts. Megatron joins names: `dp_cp` is data parallelism.
_WORDS: Final = (
    ("expert", r"exp|ep|expert|moe|etp|edp"),
    ("data", r"dp|data|replica|fsdp|zero|ddp"),
    ("tensor", r"tp|tensor|mp_tp|row|col"),
    ("pipeline", r"pp|pipe|pipeline|stages?"),
    ("context", r"cp|context|ring|ulysses|sequence|sp"),
    ("model", r"mp|model"),
    ("embedding", r"embd|embedding"),
    ("world", r"default|world|global"),
)
_PATTERNS: Final = tuple(
    (kind, re.compile(rf"(?:^|[^a-z])(?:{words})(?:[^a-z]|$)", re.IGNORECASE)) for kind, words in _WORDS
)


def parallelism_named(words: str) -> str | None:
    """What a group is for by its name or description: data, tensor, pipeline, ...; None if these don't tell."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(words)), None)
