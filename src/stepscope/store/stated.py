"""What a user states of the devices of a recording, in place of what is recorded or derived."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import quantity
from stepscope.model.device_table import DEVICES
from stepscope.model.devices import match
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

#: A line of health about the input as a whole: code, severity, count, message, effect.
_Note = tuple[str, str, int, str, str]
_SIZE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([kMGT]?)(i?)B?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, slots=True)
class StatedDevice:
    """The device, and the size of its memory, as users state them.

    Attributes:
        name: As in the device table, or as a recorder would write it; None if not stated.
        memory_bytes: None if not stated.
    """

    name: str | None = None
    memory_bytes: int | None = None

    @classmethod
    def of(cls, device: str | None, memory: str | None) -> StatedDevice | None:
        """From the words of a user; None if nothing is stated.

        Args:
            device: `A100-SXM4-80GB`, `Ascend 910B3`, ...
            memory: `64GiB`, `80GB`; a number alone is in GiB.

        Raises:
            UserError: There is no such device in the table, or the size is none.
        """
        if device is None and memory is None:
            return None
        known = match(device)
        if device is not None and known is None:
            hint = choose(device, [one.name for one in DEVICES])
            raise UserError(said("the device table has no {device!r}", device=device), hint=hint)
        return cls(known.name if known else None, None if memory is None else _bytes(memory))

    def columns_sql(self) -> str:
        """`REPLACE` list for table `devices`: what is derived of a device gives way to what is stated."""
        columns = {}
        if self.name is not None:
            quoted = self.name.replace("'", "''")
            columns = dict.fromkeys(("sms", "clock_hz", "memory_bandwidth"), "NULL")
            columns |= {"compute_capability": "NULL", "name": f"'{quoted}'"}
            columns["memory_bytes"] = "CASE WHEN known_by IS NULL THEN memory_bytes END"
        if self.memory_bytes is not None:
            columns["memory_bytes"] = str(self.memory_bytes)
        columns["known_by"] = "'stated when the recording was opened'"
        return ", ".join(f"({value}) AS {name}" for name, value in columns.items())

    def note(self) -> _Note:
        """The line of health that says so."""
        told = [said("the device is {name}", name=self.name)] if self.name is not None else []
        if self.memory_bytes is not None:
            told.append(said("its memory has {memory_bytes}", memory_bytes=quantity(self.memory_bytes, "bytes")))
        return (
            "device-stated", "info", 1, said("the user states that {told}", told=' and '.join(told)),
            said("peaks and sizes are taken from this, whatever the recording says"),
        )  # fmt: skip


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UserError(said("{text!r} is no size of memory", text=text), hint="write it as in 64GiB or 80GB")
    number, prefix, binary = (str(part) for part in found.groups())
    if not prefix and not text.strip().upper().endswith("B"):
        prefix, binary = "g", "i"
    size = round(float(number) * float(1024 if binary else 1000) ** _POWERS[prefix.lower()])
    if not 0 < size < 2**60:
        raise UserError(said("{text!r} is no size of memory", text=text), hint="write it as in 64GiB or 80GB")
    return size
