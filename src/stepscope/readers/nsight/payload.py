"""Decode payloads of NVTX ranges by the layouts that their domain declares.

NCCL records the communicator and size of each call this way. The numbers of its layouts changed between versions, the
names of their fields did not: layouts are found by those.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.readers.nsight.tables import Tables, records
from stepscope.readers.sqlite.columns import Columns

_SCHEMAS: Final = Columns(ints=("domainId", "schemaId", "payloadSize"))
_ENTRIES: Final = Columns(ints=("domainId", "schemaId", "idx", "type", "offset"), texts=("name",))

#: struct codes of the entry types that hold numbers (long is 8 bytes: payloads come from 64-bit Linux).
_CODES: Final = {
    3: "h", 4: "H", 5: "i", 6: "I", 7: "q", 8: "Q", 9: "q", 10: "Q", 11: "b", 12: "B", 13: "h", 14: "H", 15: "i",
    16: "I", 17: "q", 18: "Q", 22: "Q", 23: "Q",
}  # fmt: skip

#: Prefixes of field names in NCCL's layouts.
COMMUNICATOR: Final = "NCCL communicator ID"
SIZE: Final = "Message size"
WORLD_SIZE: Final = "No. of ranks"
RANK: Final = "Rank"


@dataclass(frozen=True, slots=True)
class Field:
    """A number in a payload: its name, struct code and position in bytes."""

    name: str
    code: str
    offset: int


@dataclass(frozen=True, slots=True)
class PayloadSchemas:
    """The payload layouts that a recording declares.

    Attributes:
        layouts: (payload size, its fields) by domain. Rows repeat per process.
    """

    layouts: dict[int, list[tuple[int | None, tuple[Field, ...]]]] = field(default_factory=dict)

    @classmethod
    def load(cls, tables: Tables) -> PayloadSchemas:
        """Read the declarations."""
        entries: dict[tuple[int, int], dict[int, Field]] = {}
        for row in records(tables, "NVTX_PAYLOAD_SCHEMA_ENTRIES", _ENTRIES):
            code = _CODES.get(row["type"])
            if code and row["name"] and row["idx"] is not None and (row["offset"] or 0) >= 0:
                key = (row["domainId"], row["schemaId"])
                entries.setdefault(key, {})[row["idx"]] = Field(row["name"], code, row["offset"] or 0)
        found = cls()
        for row in records(tables, "NVTX_PAYLOAD_SCHEMAS", _SCHEMAS):
            fields = tuple(entries.get((row["domainId"], row["schemaId"]), {}).values())
            layout = (row["payloadSize"], fields)
            if fields and layout not in found.layouts.setdefault(row["domainId"], []):
                found.layouts[row["domainId"]].append(layout)
        return found

    @property
    def nccl_domains(self) -> list[int]:
        """Domains with NCCL's layouts."""
        return [
            d for d, layouts in self.layouts.items() if any(f.name == COMMUNICATOR for _, fs in layouts for f in fs)
        ]

    def decode(self, domain: int, needed: str, payload: bytes) -> dict[str, int]:
        """The numbers in a payload with the field `needed`; empty if the layouts are ambiguous.

        A range does not record its payload's layout: it is found by the payload's size and the needed field. Where
        several layouts fit, only fields equal in all of them are returned.
        """
        candidates = [
            fields
            for size, fields in self.layouts.get(domain, [])
            if size == len(payload) and any(f.name.startswith(needed) for f in fields)
        ]
        if not candidates:
            return {}
        agreed = set(candidates[0]).intersection(*candidates[1:])
        return {
            f.name: struct.unpack_from("<" + f.code, payload, f.offset)[0]
            for f in agreed
            if f.offset + struct.calcsize(f.code) <= len(payload)
        }


def decode_json(text: str) -> dict[str, int]:
    """The numbers at any depth of a payload exported as JSON; empty if it is no JSON object."""
    found: dict[str, int] = {}

    def visit(value: Any, depth: int) -> None:
        items = value.items() if isinstance(value, dict) else ()
        for key, item in items:
            if isinstance(item, dict) and depth < 8:
                visit(item, depth + 1)
            elif isinstance(item, int) and not isinstance(item, bool):
                found[key] = item
            elif isinstance(item, str) and (number := _number(item)) is not None:
                found[key] = number

    try:
        visit(json.loads(text), 0)
    except (ValueError, RecursionError):
        return {}
    return found


def _number(text: str) -> int | None:
    try:
        return int(text, 0) if len(text) < 30 else None
    except ValueError:
        return None


def field_of(payload: dict[str, int], name: str) -> int | None:
    """The field whose name starts with `name`, ignoring case; None if there is none."""
    return next((value for key, value in payload.items() if key.lower().startswith(name.lower())), None)
