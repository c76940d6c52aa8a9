"""Compile the model."""

from __future__ import annotations

from typing import Any, Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: Small operators per step from which fewer and larger ones may be quicker.
_MANY: Final = 200


def _fits(seen: Seen) -> str:
    if not seen.models:
        return said("no model of the program was seen to be called")
    return said("the model is compiled") if all(one.get("compiled") for one in seen.models) else ""


def _model(model: Any, seen: Seen) -> bool:
    del seen
    if getattr(model, "_compiled_call_impl", None) is not None or hasattr(model, "_orig_mod"):
        return False
    model.compile()
    return True


REMEDY = OutsideRemedy(
    name="compile",
    title="Compile the model",
    rules=(
        "HST001", "HST002", "HST003", "HST004", "HST007", "KRN009", "KRN010", "KRN011", "KRN012", "KRN013", "MEM016",
        "KRN015", "HST017",
    ),
    numbers="rounding",
    changes="the last digits of what is fused, and the random numbers of dropout",
    fits=_fits,
    evident=lambda seen: seen.device == "cpu" and seen.small_operators >= _MANY,
    model=_model,
    write=lambda seen: tuple(f"model.compile()  # {one['class']}, before its first call" for one in seen.models[:3]),
    excludes=("compile-cuda-graphs",),
)  # fmt: skip
