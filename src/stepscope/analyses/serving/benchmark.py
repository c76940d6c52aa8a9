"""What the result of a serving benchmark states: of `vllm bench serve --save-result`, or SGLang's `bench_serving`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError

#: Requests that were answered, and tokens of all of them: both benchmarks write these.
_NEEDED: Final = ("completed", "total_input_tokens", "total_output_tokens")
_MS: Final = 1e6
_HINT: Final = "give what `vllm bench serve --save-result` or `sglang.bench_serving --output-file` wrote"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The figures of a run. What the file does not state is None; times are in ns.

    Attributes:
        requests: Requests that were answered.
        input_tokens: Tokens of their prompts.
        output_tokens: Tokens of their answers.
        concurrency: Most requests at a time that were allowed.
        ttft: Mean time to the first token.
        tpot: Mean time per output token after the first, of a request.
        itl: Median time between two tokens.
        itl_p99: Its 99th percentile.
        accepted: Tokens that a verification of drafts makes on average.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    concurrency: int | None
    ttft: float | None
    tpot: float | None
    itl: float | None
    itl_p99: float | None
    accepted: float | None


def read_benchmark(text: str, name: str) -> Benchmark:
    """The figures of a result; of several, one on each line, the last.

    Args:
        text: Content of the file.
        name: What errors call it.

    Raises:
        UserError: It is no such result.
    """
    document = _document(text, name)
    missing = [one for one in _NEEDED if _number(document, one) is None]
    if missing or not _number(document, "completed"):
        lacks = said("it states no {missing!r}", missing=missing[0]) if missing else "no request was completed"
        raise UserError(said("{name} is no result of a serving benchmark: {lacks}", name=name, lacks=lacks), hint=_HINT)
    requests, read, made = (int(_number(document, one) or 0) for one in _NEEDED)
    allowed = _number(document, "max_concurrency")
    return Benchmark(
        requests=requests,
        input_tokens=read,
        output_tokens=made,
        concurrency=int(allowed) if allowed else None,
        ttft=_ms(document, "mean_ttft_ms"),
        tpot=_ms(document, "mean_tpot_ms"),
        itl=_ms(document, "median_itl_ms"),
        itl_p99=_ms(document, "p99_itl_ms"),
        accepted=_number(document, "spec_decode_acceptance_length") or _number(document, "accept_length"),
    )


def _document(text: str, name: str) -> Mapping[str, Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    for candidate in (text, lines[-1] if lines else ""):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, Mapping):
            return found
    raise UserError(said("{name} is no JSON object, nor lines of them", name=name), hint=_HINT)


def _number(document: Mapping[str, Any], name: str) -> float | None:
    """A figure that is finite and not below zero; else None."""
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _ms(document: Mapping[str, Any], name: str) -> float | None:
    value = _number(document, name)
    return value * _MS if value else None
