"""Defects of text that no JSON parser accepts, with every event still present."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from stepscope.simulate.defects.document import Damaged, Document, unbroken, with_name

_HOST = ("cpu_op", "python_function", "user_annotation")


def backslashes(data: bytes) -> Damaged:
    r"""Windows paths in names without escaping: ``\m`` is no JSON escape, ``\n`` is the wrong one."""
    return _names(data, lambda name: f"C:\\models\\new\\{name}", "names hold single backslashes")


def control_characters(data: bytes) -> Damaged:
    """Raw control characters, also line ends, inside names."""
    return _names(data, lambda name: f"{name}\x01\t\n\x1f", "names hold control characters")


def quotes(data: bytes) -> Damaged:
    """Quotation marks inside names that nobody escaped."""
    return _names(data, lambda name: f'{name} "fx_0" call', "names hold bare quotation marks")


def _names(data: bytes, change: Callable[[str], str], note: str) -> Damaged:
    document = Document.parse(data)
    chosen = document.find(*_HOST, every=5)
    damaged = document.map(lambda event: with_name(event, change), chosen)
    return unbroken(damaged, len(chosen), f"every event can be repaired; {note}")


def not_numbers(data: bytes) -> Damaged:
    """NaN and infinities where numbers belong."""
    document = Document.parse(data)
    kernels, copies = document.find("kernel", every=3), document.find("gpu_memcpy", "gpu_memset")
    document = document.map(lambda e: re.sub(r'("blocks per SM": )[\d.]+', r"\1NaN", e), kernels)
    document = document.map(lambda e: re.sub(r'(\(GB/s\)": )[\d.]+', r"\1-Infinity", e), copies)
    return unbroken(document, len(kernels) + len(copies), "every event can be read; the fields have no value")


def not_available(data: bytes) -> Damaged:
    """The bare text N/A where a number belongs."""
    document = Document.parse(data)
    kernels = document.find("kernel", every=3)
    document = document.map(lambda e: re.sub(r'("(?:shared memory|stream)": )\d+', r"\1N/A", e, count=1), kernels)
    return unbroken(document, len(kernels), "every event can be read; the fields have no value")


def invalid_utf8(data: bytes) -> Damaged:
    """Bytes in names that are not UTF-8."""
    damaged = _names(data, lambda name: f"{name}\0", "names hold bytes that are not UTF-8")
    return replace(damaged, data=damaged.data.replace(b"\0", b"\xff\xfe\xc3"))


def byte_order_mark(data: bytes) -> Damaged:
    """A byte order mark before the first brace."""
    document = Document.parse(data)
    return replace(unbroken(document, 0, "nothing is lost"), data=b"\xef\xbb\xbf" + data)


def crlf(data: bytes) -> Damaged:
    """Line ends of Windows."""
    return replace(unbroken(Document.parse(data), 0, "nothing is lost"), data=data.replace(b"\n", b"\r\n"))


def one_line(data: bytes) -> Damaged:
    """No white space at all."""
    text = json.dumps(json.loads(data), separators=(",", ":"))
    return replace(unbroken(Document.parse(data), 0, "nothing is lost"), data=text.encode())


def indented(data: bytes) -> Damaged:
    """Every value on a line of its own, the keys in alphabetical order."""
    text = json.dumps(json.loads(data), indent=4, sort_keys=True)
    return replace(unbroken(Document.parse(data), 0, "nothing is lost"), data=text.encode())


def trailing_comma(data: bytes) -> Damaged:
    """A comma after the last event."""
    document = Document.parse(data)
    return unbroken(replace(document, tail="," + document.tail), 0, "nothing is lost")
