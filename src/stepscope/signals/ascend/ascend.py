"""Ascend devices: the job's environment variables, and how its operators were dispatched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal

_PREFIX: Final = "env."


@signal()
def recorded(s: Signals) -> bool:
    """Whether the recording was made by an Ascend profiler, which sees no other devices."""
    return source_of(s.trace.recordings[s.rank].reader).platform == "npu"


def need_ascend(s: Signals) -> None:
    """Abstain unless the recording is that of an Ascend profiler.

    Raises:
        MissingInputError: It is not.
    """
    if not s(recorded):
        raise MissingInputError("the recording is not of an Ascend device", hint="this concerns Ascend devices only")


@signal()
def environment(s: Signals) -> Mapping[str, str]:
    """Environment variables as the profiler recorded them; empty text for those that were not set."""
    need_ascend(s)
    attributes = s.trace.recordings[s.rank].attributes
    found = {name[len(_PREFIX) :]: str(value) for name, value in attributes.items() if name.startswith(_PREFIX)}
    if not found:
        raise MissingInputError(
            "the recording does not say what environment the job ran in",
            hint="give the whole result folder of the Ascend profiler, with profiler_metadata.json",
        )
    return found
