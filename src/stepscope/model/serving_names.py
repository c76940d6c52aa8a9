"""Parse the names that serving engines give to passes over a batch: phase, requests, tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: `step[DECODE bs=32]`, `step[EXTEND bs=15 toks=15360]`.
_SGLANG: Final = re.compile(r"^step\[(\w+) bs=(\d+)(?: toks=(\d+))?")
#: `execute_context_1(888_788544)_generation_0(0)`, `execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk344)`:
#: requests and, in brackets, their new tokens first.
_TOKENS: Final = r"(?:\((?:sq)?(\d+)\w*\))?"
_VLLM: Final = re.compile(rf"^execute_(?:\d+_)?context_(\d+){_TOKENS}_generation_(\d+){_TOKENS}")
_PHASES: Final = {"DECODE": "decode", "EXTEND": "prefill", "PREFILL": "prefill", "MIXED": "mixed",
                  "TARGET_VERIFY": "decode", "DRAFT_EXTEND": "prefill"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a server over a batch.

    Attributes:
        phase: `prefill`, `decode` or `mixed`.
        requests: Requests in the batch.
        tokens: Tokens that the pass reads or makes; None if the name does not say.
    """

    phase: str
    requests: int
    tokens: int | None

    def __str__(self) -> str:
        """`prefill of 888 tokens`, `decode of 32 requests`, `mixed batch of 8,192 tokens`."""
        what = "mixed batch" if self.phase == "mixed" else self.phase
        if self.phase == "decode" or self.tokens is None:
            return f"{what} of {self.requests:,} request{'s' * (self.requests != 1)}"
        return f"{what} of {self.tokens:,} token{'s' * (self.tokens != 1)}"


def served(name: str) -> Pass | None:
    """The pass that a range is named after; None for any other name and for passes over nothing."""
    if found := _SGLANG.match(name):
        phase, requests = _PHASES.get(found[1]), int(found[2])
        tokens = int(found[3]) if found[3] else requests if phase == "decode" else None
        return Pass(phase, requests, tokens) if phase and requests else None
    if not (found := _VLLM.match(name)):
        return None
    prompts, answers = int(found[1]), int(found[3])
    counted = (found[2] is not None or not prompts) and (found[4] is not None or not answers)
    tokens = (int(found[2] or 0) if prompts else 0) + (int(found[4] or 0) if answers else 0)
    phase = "mixed" if prompts and answers else "prefill" if prompts else "decode"
    return Pass(phase, prompts + answers, tokens if counted else None) if prompts + answers else None
