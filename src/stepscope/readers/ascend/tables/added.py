"""What a program adds to its recording by `add_metadata` and `add_metadata_json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.language import said
from stepscope.store.staging import Staging

#: The profiler's own entries among the metadata.
_OWN: Final = ("ENV_VARIABLES", "distributed_args", "parallel_group_info", "pp_info", "stepscope")
#: Sizes of parallelism under the names that Megatron gives them, by the names that programs do.
_SIZES: Final = {
    "tensor_model_parallel_size": re.compile(r"tp|tensor_(model_)?parallel"),
    "pipeline_model_parallel_size": re.compile(r"pp|pipeline_(model_)?parallel"),
    "data_parallel_size": re.compile(r"dp|data_parallel"),
    "context_parallel_size": re.compile(r"cp|context_parallel"),
    "expert_model_parallel_size": re.compile(r"ep|expert_(model_)?parallel"),
}
_ENDS: Final = re.compile(r"_(size|degree|world_size)$")
_SHOWN, _LONGEST, _MOST_RANKS = 5, 60, 10**7


def added(metadata: dict[str, Any]) -> dict[str, Any]:
    """Entries that are not the profiler's own, by name; a damaged table may name one by a number."""
    named = ((str(name), value) for name, value in metadata.items())
    return {name: value for name, value in named if name not in _OWN and not name.startswith("SCHEMA_VERSION")}


def sizes(metadata: dict[str, Any]) -> dict[str, int]:
    """Sizes of tensor, pipeline, data, context and expert parallelism that the program noted, by Megatron's names."""
    found: dict[str, int] = {}
    for name, value in _entries(added(metadata)):
        words = _ENDS.sub("", re.sub(r"[^a-z]+", "_", name.lower()).strip("_"))
        kind = next((kind for kind, pattern in _SIZES.items() if pattern.fullmatch(words)), None)
        size = whole(value)
        if kind and size is not None and 0 < size < _MOST_RANKS:
            found.setdefault(kind, size)
    return found


def whole(value: Any) -> int | None:
    """A whole number, which may be written as text; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value.strip()):
        return int(value)
    return value if type(value) is int else None


def observe_added(staging: Staging, metadata: dict[str, Any]) -> None:
    """Say what the program noted."""
    notes = [
        f"{name[:_LONGEST]} = {(value if isinstance(value, str) else json.dumps(value))[:_LONGEST]}"
        for name, value in added(metadata).items()
    ]
    more = said("; {notes} more", notes=len(notes) - _SHOWN) if len(notes) > _SHOWN else ""
    staging.observe(
        "metadata-added", "info", int(bool(notes)),
        said("the program noted: {notes}{more}", notes='; '.join(notes[:_SHOWN]), more=more),
        "sizes of parallelism among them are used where the framework records none",
    )  # fmt: skip


def _entries(metadata: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Entries, and those of objects among them."""
    for name, value in metadata.items():
        yield name, value
        if isinstance(value, dict):
            yield from ((str(inner), one) for inner, one in value.items())
