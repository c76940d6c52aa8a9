"""A recording as a whole: its planes, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.readers.xplane.planes import Plane, text
from stepscope.readers.xplane.wire import BYTES, VARINT, BrokenError, Data, WireLosses, fields

#: The host, and planes of single tracers, which the profiler adds to it as a rule.
HOST: Final = "/host:CPU"
OF_HOST: Final = (HOST, "/host:python-tracer", "/host:CUPTI", "/host:ROCTRACER")
_DEVICES: Final = "/device:"
#: The plane that says when and how it was recorded, and the setting for devices there.
_ABOUT: Final = "Task Environment"
_START: Final = "profile_start_time"
_OPTIONS: Final = "profile_options"
_DEVICE_TRACER: Final = 3


@dataclass(slots=True)
class Space:
    """What a recording holds.

    Attributes:
        planes: All planes.
        hosts: Names of the hosts.
        errors: What the profiler says that it could not record.
        warnings: What else it says.
        cut: Whether the recording ends in the middle.
    """

    planes: list[Plane] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    cut: bool = False

    @classmethod
    def of(cls, data: Data, losses: WireLosses) -> Space:
        """The recording in some data, as far as it can be read."""
        space = cls()
        texts = {2: space.errors, 3: space.warnings, 4: space.hosts}
        try:
            for number, kind, start, end in fields(data, 0, len(data), may_be_cut=1):
                if (number, kind) == (1, BYTES):
                    space.planes.append(Plane.of(data, start, end, losses))
                elif number in texts and kind == BYTES:
                    texts[number].append(text(data, start, end))
        except BrokenError as error:
            losses.add(error, last=True)
        space.cut = losses.cut
        return space

    @property
    def shown(self) -> list[Plane]:
        """Planes that hold events of a program, rather than what was compiled or where it ran."""
        return [plane for plane in self.planes if plane.name in OF_HOST or plane.name.startswith(_DEVICES)]

    def _about(self) -> dict[str, str]:
        return {name: said for plane in self.planes if plane.name == _ABOUT for name, said in plane.about().items()}

    def metadata(self) -> dict[str, Any]:
        """What a Chrome trace says beside its events."""
        found: dict[str, Any] = {"displayTimeUnit": "ns"}
        if self.hosts:
            found["hostname"] = self.hosts[0]
        if (start := self._about().get(_START, "")).isdigit():
            found["baseTimeNanoseconds"] = int(start)
        return found

    @property
    def alone(self) -> bool:
        """Whether the profiler was to record devices, and there were none."""
        options = self._about().get(_OPTIONS, "").encode("latin-1", "replace")
        try:
            settings = {(number, kind): value for number, kind, value, _ in fields(options, 0, len(options))}
        except BrokenError:
            return False
        asked = settings.get((_DEVICE_TRACER, VARINT), 0) > 0
        there = any(plane.name.startswith(_DEVICES) for plane in self.planes)
        return asked and not (there or self.errors or self.cut)
