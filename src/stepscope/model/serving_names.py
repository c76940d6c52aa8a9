"""Parse the names that serving engines give to passes over a batch: phase, requests, tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stepscope.language import counted, said

#: SGLang: `step[DECODE bs=32]`, `step[EXTEND bs=15 toks=15360]`.
_SGLANG: Final = re.compile(r"^step\[(\w+) bs=(\d+)(?: toks=(\d+))?")
#: vLLM: `execute_context_1(888)_generation_0(0)`; builds for ROCm
#: `execute_8192_context_9(sq8155sk8430...)_generation_37(sq37sk34489...)`: requests and, in brackets, their new tokens
#: (sq), and all tokens that these attend to (sk). Others have the square of the new tokens behind them:
#: `execute_context_1(888_788544)`.
_TOKENS: Final = r"(?:\((?:sq)?(\d+)(?:sk(\d+))?\w*\))?"
_VLLM: Final = re.compile(rf"^execute_(?:\d+_)?context_(\d+){_TOKENS}(?:_generation_(\d+){_TOKENS})?")
#: vLLM before that: requests that are new, which read their prompts, and others, which may still read theirs.
_VLLM_NEW: Final = re.compile(r"^execute_new_(\d+)_cached_(\d+)")
#: TensorRT-LLM: `[Executor] _forward_step 7: 2 ctx reqs, 512 ctx tokens, 30 gen reqs`, `executeStep: 2 ctx reqs, 30 gen
#: reqs`.
_TENSORRT: Final = re.compile(
    r"^(?:(?:\[Executor\] )?_forward_step(?: \d+)?|executeStep): "
    r"(\d+) ctx reqs,(?: (\d+) ctx tokens,)? (\d+) gen reqs"
)
_PHASES: Final = {"DECODE": "decode", "EXTEND": "prefill", "PREFILL": "prefill", "MIXED": "mixed",
                  "SPLIT_PREFILL": "prefill", "TARGET_VERIFY": "decode", "DRAFT_EXTEND": "unknown",
                  "DRAFT_EXTEND_V2": "unknown", "DLLM_EXTEND": "unknown"}  # fmt: skip
_DRAFTED: Final = "TARGET_VERIFY"


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a server over a batch. What its name does not say is None.

    Attributes:
        phase: `prefill`, `decode`, `mixed` or `unknown`.
        requests: Requests in the batch.
        tokens: Tokens that the pass reads or makes.
        prompts: Requests whose prompts are read.
        answers: Requests whose answers are made.
        prompt_tokens: Tokens of prompts.
        answer_tokens: Tokens of answers: one for each request, and what was drafted for it.
        context_tokens: Tokens in the key/value cache, these included, that the answers attend to.
    """

    phase: str
    requests: int
    tokens: int | None
    prompts: int | None = None
    answers: int | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    context_tokens: int | None = None

    @property
    def drafted(self) -> bool:
        """Whether it has more tokens of answers than answers, so that drafts are verified."""
        return bool(self.answers and self.answer_tokens and self.answer_tokens > self.answers)

    def __str__(self) -> str:
        """`prefill of 888 tokens`, `decode of 32 requests`, `mixed batch of 8,192 tokens`."""
        what = {"mixed": said("mixed batch"), "unknown": said("batch")}.get(self.phase, self.phase)
        if self.phase == "decode" or self.tokens is None:
            size = counted("{count:,} request", "{count:,} requests", count=self.requests)
        else:
            size = counted("{count:,} token", "{count:,} tokens", count=self.tokens)
        return said("{what} of {size}", what=what, size=size)


def served(name: str) -> Pass | None:
    """The pass that a range is named after; None for any other name and for passes over nothing."""
    if found := _SGLANG.match(name):
        return _sglang(found[1], int(found[2]), _number(found[3]))
    if found := _VLLM.match(name):
        prompts, answers = int(found[1]), int(found[4] or 0)
        return _batch(prompts, answers, _number(found[2]), _number(found[5]), _number(found[6]))
    if found := _VLLM_NEW.match(name):
        new, cached = int(found[1]), int(found[2])
        phase = "prefill" if new and not cached else "unknown"
        return Pass(phase, new + cached, None, *((new, 0) if phase == "prefill" else ())) if new + cached else None
    if found := _TENSORRT.match(name):
        return _batch(int(found[1]), int(found[3]), _number(found[2]), None)
    return None


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _sglang(mode: str, requests: int, tokens: int | None) -> Pass | None:
    phase = _PHASES.get(mode)
    if phase is None or not requests:
        return None
    if phase == "decode":
        made = requests if tokens is None and mode != _DRAFTED else tokens
        return Pass(phase, requests, made, 0, requests, 0, made)
    if phase == "prefill":
        return Pass(phase, requests, tokens, requests, 0, tokens, 0)
    return Pass(phase, requests, tokens)


def _batch(prompts: int, answers: int, read: int | None, made: int | None, context: int | None = None) -> Pass | None:
    """A batch by its numbers of prompts and answers, and their tokens as far as these are told."""
    if not prompts + answers:
        return None
    phase = "mixed" if prompts and answers else "prefill" if prompts else "decode"
    read, made = (read if prompts else 0), (made if answers else 0)
    tokens = None if read is None or made is None else read + made
    return Pass(phase, prompts + answers, tokens, prompts, answers, read, made, context if answers else None)
