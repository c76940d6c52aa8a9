"""Compile the model and replay its launches as CUDA graphs."""

from __future__ import annotations

from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if seen.device != "cuda":
        return said("CUDA graphs need a GPU")
    if not seen.models:
        return said("no model of the program was seen to be called")
    return said("the model is compiled") if all(one.get("compiled") for one in seen.models) else ""


def _model(model: Any, seen: Seen) -> bool:
    del seen
    if getattr(model, "_compiled_call_impl", None) is not None or hasattr(model, "_orig_mod"):
        return False
    model.compile(mode="reduce-overhead")
    return True


REMEDY = OutsideRemedy(
    name="compile-cuda-graphs",
    title="Compile the model, and replay its launches as graphs",
    rules=("HST001", "HST002", "HST004"),
    numbers="rounding",
    changes="the last digits of what is fused, and the random numbers of dropout",
    fits=_fits,
    model=_model,
    write=lambda _: ('model.compile(mode="reduce-overhead")  # before its first call',),
    excludes=("compile",),
)
