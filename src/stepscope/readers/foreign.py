"""Recognise files of other formats, and suggest what to give instead.

They are recognised by their first bytes; by name only where a format has no signature.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.language import said

_PYTORCH: Final = "give what torch.profiler wrote: prof.export_chrome_trace('trace.json.gz')"
_NSIGHT: Final = said("give an export of Nsight Systems: nsys export --type sqlite report.nsys-rep")
_UNPACK: Final = said("unpack it, and give what is in it")
_NOTHING: Final = "give a recording of a profiler, such as trace.json of torch.profiler"


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a file is, as in "a PNG image", and what to do."""

    what: str
    hint: str


def foreign(path: Path, head: bytes) -> Foreign | None:
    """The format of a file from the start of its unpacked content; None if unknown."""
    for looks, found in (*_ALIKE, *_CONTENTS):
        if looks(head):
            return found
    for suffixes, found in _NAMES.items():
        if path.name.lower().endswith(suffixes):
            return found
    if _is_perfetto(head):
        return _PERFETTO
    return Foreign("text that is no recording", _NOTHING) if _is_text(head) else None


def is_foreign(head: bytes) -> bool:
    """Whether the content is of no job although a reader would accept it: another Chrome trace, or tensors."""
    return any(looks(head) for looks, _ in _ALIKE)


def foreign_archive(names: Iterable[str]) -> Foreign | None:
    """The format of an archive with such files; None if unknown."""
    ends = {"/" + name.rsplit("/", 1)[-1] for name in names}
    if "/data.pkl" in ends and ends & {"/version", "/byteorder", "/constants.pkl"}:
        return _CHECKPOINT
    if "/[Content_Types].xml" in ends:
        return Foreign("a workbook or document of an office program", _NOTHING)
    return None


def foreign_tables(names: Iterable[str]) -> Foreign:
    """The format of a database with such tables."""
    listed = sorted(names)
    if any(name.startswith("rocpd_") for name in listed):
        return Foreign("a database of rocprofv3, which is not read", _PYTORCH)
    shown = ", ".join(listed[:4]) + (", ..." if len(listed) > 4 else "")
    of = f" (its tables: {shown})" if shown else said(" (it has no tables)")
    return Foreign(said("an SQLite database that no profiler wrote which stepscope reads{of}", of=of), _NSIGHT)


def _starts(*starts: bytes) -> Callable[[bytes], bool]:
    """A test whether content starts with one of these; unless they are text themselves, it must not be text."""
    return lambda head: head.startswith(starts) and (not _is_text(head) or head.startswith((b"<", b"%")))


def _has(*patterns: bytes) -> Callable[[bytes], bool]:
    found = [re.compile(pattern) for pattern in patterns]
    return lambda head: head.lstrip()[:1] in (b"{", b"[") and any(one.search(head) for one in found)


def _is_core(head: bytes) -> bool:
    # e_type, in the byte order given by byte 5, is 4.
    return head.startswith(b"\x7fELF") and head[16:18] in (b"\4\0", b"\0\4")


def _is_perfetto(head: bytes) -> bool:
    """Whether the content starts with three packets (field 1 of `Trace`) in Protocol Buffers."""
    at = 0
    for _ in range(3):
        found = _PACKET.match(head, at)
        if found is None or _is_text(head):
            return False
        length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(found[1]))
        at = found.end() + length
    return True


#: The number of a field, and the length of what it holds (https://protobuf.dev/programming-guides/encoding/).
_PACKET: Final = re.compile(rb"\n([\x80-\xff]{0,4}[\x00-\x7f])")


def _is_text(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at its end
    except UnicodeDecodeError:
        return False
    return bool(head) and not re.search(rb"[\x00-\x08\x0e-\x1a]", head)


_CHECKPOINT: Final = Foreign("what torch.save wrote, a checkpoint as a rule, and holds no times", _PYTORCH)
_ETL: Final = Foreign("an event log of Windows (ETW), which is not read", _NSIGHT)
_PERFETTO: Final = Foreign(
    "a trace of Perfetto in its binary format, which is not read",
    "convert it with Perfetto's traceconv json, or record with torch.profiler",
)
_XPLANE: Final = Foreign(
    "no XSpace, although it is called like those of JAX and TensorFlow",
    "copy it again from where it was recorded, or give trace.json.gz, if it lies beside it",
)
_IMAGE: Final = Foreign("an image", _NOTHING)
_PACKED: Final = Foreign("packed in a way that is not read", _UNPACK)

_ALIKE: Final[tuple[tuple[Callable[[bytes], bool], Foreign], ...]] = (
    # The magic number of torch.save before it wrote zip archives.
    (_starts(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), _CHECKPOINT),
    (_has(rb'"bazel_version"', rb'"cat"\s*:\s*"build phase marker"'), Foreign("a build profile of Bazel",
     "it is of no training or inference job; " + _NOTHING)),
    (_has(rb'"cat"\s*:\s*"(?:[^"]*,)?(?:disabled-by-default-)?devtools\.timeline', rb'"source"\s*:\s*"DevTools"'),
     Foreign("a recording of Chrome's DevTools", "it is of a browser's page; " + _NOTHING)),
    (_has(rb'"schema"\s*:\s*"[^"]*chakra'), Foreign("an execution trace, which tells what operators compute",
     "give the trace that torch.profiler wrote of the same run: prof.export_chrome_trace('trace.json.gz')")),
)  # fmt: skip
_CONTENTS: Final[tuple[tuple[Callable[[bytes], bool], Foreign], ...]] = (
    (_is_core, Foreign("a core dump", "give a recording of a profiler; a debugger reads core dumps")),
    (_starts(b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe"), Foreign("a program or a library", _NOTHING)),
    (_starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"), _IMAGE),
    (lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP", _IMAGE),
    (_starts(b"%PDF-"), Foreign("a PDF document", _NOTHING)),
    (_starts(b"<svg", b"<?xml", b"<!DOCTYPE", b"<html", b"<!doctype"), Foreign("a page or drawing in HTML or XML",
     "give the recording that it was made from")),
    (_starts(b"(\xb5/\xfd"), Foreign("packed with Zstandard, which is not read", "unpack it first: zstd -d FILE")),
    (_starts(b"\x04\"M\x18"), Foreign("packed with LZ4, which is not read", "unpack it first: lz4 -d FILE")),
    (_starts(b"7z\xbc\xaf", b"Rar!"), _PACKED),
    (lambda head: head[257:262] == b"ustar", Foreign("a tar archive, which is not read", "unpack it: tar xf FILE")),
    (_starts(b"NVR\0"), Foreign("a report of Nsight Compute, which is about single kernels",
     "record the whole job with nsys profile, and give nsys export --type sqlite of its report")),
    (_starts(b"PAR1", b"ARROW1"), Foreign("one table of an export, or a table of something else",
     "give the whole folder of nsys export --type parquetdir")),
    (_starts(b"\x93NUMPY", b"\x89HDF"), Foreign("an array or model, and holds no times", _PYTORCH)),
    (lambda head: b"brain.Event:" in head[:128], Foreign("an event file of TensorBoard, which holds no trace",
     "give the *.pt.trace.json that torch.profiler wrote beside it")),
)  # fmt: skip

#: By name: formats without a signature, and those whose signature is damaged.
_NAMES: Final[dict[tuple[str, ...], Foreign]] = {
    (".etl",): _ETL,
    (".pt", ".pth", ".ckpt", ".safetensors"): _CHECKPOINT,
    (".xplane.pb",): _XPLANE,
    (".ncu-rep",): Foreign("a report of Nsight Compute, which is about single kernels",
                           "record the whole job with nsys profile, and export its report"),
    (".perfetto-trace", ".pftrace"): _PERFETTO,
}  # fmt: skip
