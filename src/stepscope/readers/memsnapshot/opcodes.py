"""The subset of pickle operations that snapshots need, as a grammar that is validated before anything is loaded.

Snapshots consist of strings, numbers, lists, dictionaries and tuples of integers, for which picklers of protocols 2 to
5 use few operations. All others are refused: names of classes, calls, objects, persistent ids, extensions, bytes,
integers of more than 16 bytes, and tuples of anything but integers, whose hash could exhaust the C stack when nested
deeply.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Final

PROTO: Final = b"\x80"
FRAME: Final = b"\x95"
STOP: Final = b"."
APPEND: Final = (b"a", b"e")
"""APPEND and APPENDS."""
SETITEMS: Final = b"u"
BINUNICODE: Final = b"X"
BINPERSID: Final = b"Q"

#: First bytes of a snapshot's operations, except those that end a run.
ADMITTED: Final = frozenset(b"hqjr" + b"N\x88\x89]})(as\x94" + b"ue" + b"KMJ\x8a" + b"G" + b"\x8cX")

#: Operations that import, call, or make objects.
DANGEROUS: Final = {
    b"c": "GLOBAL", b"\x93": "STACK_GLOBAL", b"R": "REDUCE", b"i": "INST", b"o": "OBJ", b"b": "BUILD",
    b"\x81": "NEWOBJ", b"\x92": "NEWOBJ_EX", b"\x82": "EXT1", b"\x83": "EXT2", b"\x84": "EXT4", b"P": "PERSID",
    b"Q": "BINPERSID", b"\x97": "NEXT_BUFFER", b"\x98": "READONLY_BUFFER",
}  # fmt: skip

#: The longest operation of a run: a string of 255 bytes after its length in four.
LONGEST: Final = 260

#: Most repetitions per match: without possessive repetition each one keeps a state.
_RUN: Final = 4096
_POSSESSIVE: Final = b"+" if sys.version_info >= (3, 11) else b""

_INTEGER: Final = b"(?:K.|M..|J.{4}|\\x8a(?:" + b"|".join(b"\\x%02x.{%d}" % (n, n) for n in range(17)) + b"))"


def _strings(opcode: bytes, zeros: bytes) -> bytes:
    lengths = b"|".join(b"\\x%02x%s.{%d}" % (n, zeros, n) for n in range(256))
    return opcode + b"(?:" + lengths + b")"


@cache
def run_pattern(bits: int, *, whole_dictionaries: bool = False) -> re.Pattern[bytes]:
    """Pattern of a run of admitted operations that need no further validation.

    A run ends before an APPEND or APPENDS that follows SETITEMS (a list has just got dictionaries), before FRAME,
    STOP and a string of more than 255 bytes, and before anything that is not admitted.

    Args:
        bits: Most bits of memo indices, 16 to 32. The unpickler's table extends to the greatest index, so an unlimited
            one would exhaust the memory.
        whole_dictionaries: End a run before every SETITEMS, too.
    """
    if bits <= 24:
        index = b"..[\\x00-\\x%02x]\\x00" % ((1 << (bits - 16)) - 1)
    else:
        index = b"...[\\x00-\\x%02x]" % ((1 << (bits - 24)) - 1)
    i = _INTEGER
    operations = (
        b"[hq].|j.{4}",  # BINGET, BINPUT, LONG_BINGET
        b"[N\\x88\\x89\\]})(s\\x94]",  # NONE, booleans, EMPTY_LIST/DICT/TUPLE, MARK, SETITEM, MEMOIZE
        b"(?<!u)[ae]" if whole_dictionaries else b"u|(?<!u)[ae]",  # SETITEMS, APPEND, APPENDS
        i + i + i + b"\\x87|" + i + i + b"\\x86|" + i + b"\\x85?",  # TUPLE3, TUPLE2, TUPLE1 of numbers, or a number
        b"r" + index,  # LONG_BINPUT
        b"G.{8}",  # BINFLOAT
        _strings(b"\\x8c", b""),  # SHORT_BINUNICODE
        _strings(b"X", b"\\x00\\x00\\x00"),  # BINUNICODE
    )
    return re.compile(b"(?s:(?:" + b"|".join(operations) + b"){1,%d}%s)" % (_RUN, _POSSESSIVE))
