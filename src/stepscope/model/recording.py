"""Metadata of a recording."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

#: Attribute of recordings that tell where operators ran: `cpu`, or the name of what drives the device.
RAN_ON: Final = "ran_on"
#: The attribute that is False where the recording leaves open whether kernels round fp32 to a narrower type.
TELLS_ROUNDING: Final = "tells_rounding"


@dataclass(frozen=True, slots=True)
class Recording:
    """Metadata of one process's recording.

    Attributes:
        source: Path of the input as given.
        reader: Name of the reader, for example `kineto`.
        rank: Rank of the process as recorded; None if the recording does not tell.
        world_size: Number of ranks of the job as recorded; None if not.
        host: Host name as recorded; None if not.
        origin_unix_ns: Unix time of the tables' time 0, in ns; None if the clock has no known origin.
        events: Number of rows of `events`.
        attributes: Further metadata (versions, profiler options).
        part: Which of several recordings in the source it is; empty if it is the first, or the only one.
        parts: The others, if it is the first.
    """

    source: str
    reader: str
    rank: int | None = None
    world_size: int | None = None
    host: str | None = None
    origin_unix_ns: int | None = None
    events: int = 0
    attributes: dict[str, str | int | float | bool] = field(default_factory=dict)
    part: str = ""
    parts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The recording as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Recording:
        """The inverse of `to_json`."""
        return cls(**{**value, "parts": tuple(value.get("parts", ()))})
