"""What is packed comes out as far as it can, whatever is broken, and never larger than the limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.model.errors import UnusableInputError, UserError
from stepscope.model.sizes import SIZES
from stepscope.readers import content
from stepscope.readers.content import Damage
from stepscope.readers.packing import zips
from stepscope.readers.packing.encodings import encoding_of
from stepscope.readers.protocol import Source

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
#: Some 400 kB that pack to a quarter.
_NUMBERS = random.Random(7)
TEXT = b"".join(b'{"ph": "X", "ts": %d}\n' % _NUMBERS.randrange(10**9) for _ in range(15_000))


def content_of(path: Path, member: str = "") -> tuple[bytes, Damage]:
    damage = Damage()
    return b"".join(content.blocks(Source(path, member), damage, lambda _: None)), damage


def zipped(path: Path, method: int, *, streamed: bool = False, **members: bytes) -> Path:
    class NoSeek(io.RawIOBase):
        """What an archive is written to that can not be written again: sizes then follow the members."""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            return file.write(data)  # type: ignore[call-overload,no-any-return]

    with path.open("wb") as file, zipfile.ZipFile(NoSeek() if streamed else file, "w", method) as archive:  # type: ignore[type-var]
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def changed(path: Path, at: float, to: Callable[[int], int] = lambda byte: byte ^ 0x55) -> Path:
    data = bytearray(path.read_bytes())
    place = int(len(data) * at)
    data[place] = to(data[place])
    path.write_bytes(data)
    return path


def cut(path: Path, at: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * at)])
    return path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_whole_comes_out_whole(tmp_path: Path, method: int, streamed: bool) -> None:
    path = zipped(tmp_path / "a.zip", method, streamed=streamed, first=TEXT, second=b"b", empty=b"")
    assert content.members(path) == ["first", "second"]
    for name, want in {"first": TEXT, "second": b"b"}.items():
        assert content_of(path, name) == (want, Damage())


def test_a_flipped_byte_of_a_stored_member_costs_that_byte(tmp_path: Path) -> None:
    path = changed(zipped(tmp_path / "a.zip", zipfile.ZIP_STORED, a=TEXT), 0.5)
    got, damage = content_of(path, "a")
    assert len(got) == len(TEXT)
    assert sum(a != b for a, b in zip(got, TEXT, strict=True)) == 1
    assert damage.whole
    assert damage.messages == ["the archive is damaged: its checksum is another one"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("method", "least"), [(zipfile.ZIP_STORED, 0.4), (zipfile.ZIP_DEFLATED, 0.4),
                                               (zipfile.ZIP_LZMA, 0.2)])  # fmt: skip
def test_of_a_cut_archive_what_is_there_comes_out(tmp_path: Path, method: int, least: float, streamed: bool) -> None:
    path = cut(zipped(tmp_path / "a.zip", method, streamed=streamed, first=b"{}", second=TEXT), 0.5)
    assert content.members(path) == ["first", "second"]
    assert content_of(path, "first")[0] == b"{}"
    got, damage = content_of(path, "second")
    assert TEXT.startswith(got)
    assert len(got) > least * len(TEXT)
    assert not damage.whole
    assert damage.messages[0] == "the archive's directory is missing or damaged"


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_what_comes_before_a_damage_is_kept(tmp_path: Path, pack: Callable[[bytes], bytes], at: float) -> None:
    (tmp_path / "a").write_bytes(pack(TEXT))
    got, damage = content_of(changed(tmp_path / "a", at))
    same = next((n for n, (a, b) in enumerate(zip(got, TEXT, strict=False)) if a != b), len(got))
    assert same > (at - 0.05) * len(TEXT)
    assert len(damage.messages) == 1
    assert not damage.whole


def test_streams_after_each_other_are_one_content(tmp_path: Path) -> None:
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / "a").write_bytes(pack(b"first ") + pack(b"second") + b"\0\0")
        assert content_of(tmp_path / "a") == (b"first second", Damage())


def streams(pack: Callable[[bytes], bytes], number: int = 8) -> tuple[list[bytes], list[bytes]]:
    """Parts of the text, and the same packed."""
    size = len(TEXT) // number
    parts = [TEXT[n * size : (n + 1) * size] for n in range(number)]
    return parts, [pack(part) for part in parts]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.98])
def test_a_damaged_stream_costs_what_is_left_of_it(tmp_path: Path, pack: Callable[[bytes], bytes], at: float) -> None:
    parts, packed = streams(pack)
    place = int(len(packed[3]) * at)
    packed[3] = packed[3][:place] + bytes(byte ^ 0x55 for byte in packed[3][place : place + 3]) + packed[3][place + 3 :]
    (tmp_path / "a").write_bytes(b"".join(packed))
    got, damage = content_of(tmp_path / "a")
    assert got.startswith(b"".join(parts[:3]))
    assert got.endswith(b"".join(parts[4:]))
    assert damage.whole
    assert [message[-19:] for message in damage.messages] == [", in 1 of 8 streams"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_is_appended_to_a_cut_stream_is_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A job was killed while it wrote, and the next one went on in the same file; then one lost its first bytes."""
    parts, packed = streams(pack)
    packed[2] = packed[2][: len(packed[2]) // 2]
    packed[5] = bytes(8) + packed[5][8:]
    (tmp_path / "a").write_bytes(b"".join(packed))
    got, damage = content_of(tmp_path / "a")
    assert got.startswith(b"".join(parts[:2]))
    assert b"".join(parts[3:5]) in got
    assert parts[5] not in got
    assert got.endswith(b"".join(parts[6:]))
    assert [message[-19:] for message in damage.messages] == [", in 2 of 7 streams"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_where_nothing_follows_a_damage_the_rest_is_missing(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    parts, packed = streams(pack)
    (tmp_path / "a").write_bytes(b"".join(packed)[: -len(packed[-1]) // 2])
    got, damage = content_of(tmp_path / "a")
    assert got.startswith(b"".join(parts[:7]))
    assert (damage.whole, damage.messages) == (False, ["the compressed data ends early"])


def test_what_lies_behind_the_last_stream_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"text") + bytes(512) + b"signed by nobody" + bytes(512))
    assert content_of(tmp_path / "a") == (b"text", Damage(["16 B behind a stream are none"]))


def test_what_only_looks_like_streams_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"text") + b"\x1f\x8b\x08\x00" * (4 << 20))
    started = time.monotonic()
    assert content_of(tmp_path / "a")[0] == b"text"
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_text_of_windows_is_read(tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a").write_bytes(pack('[{"ph": "ünïcode 🎈"}]'.encode(encoding)))
    got, damage = content_of(tmp_path / "a")
    assert got.decode().lstrip("\ufeff") == '[{"ph": "ünïcode 🎈"}]'
    assert damage == Damage()


@pytest.mark.parametrize("start", [b'{"a": 1}', b"SQLite format 3\0", b"\x80\x04\x95", b"", b"[", b"PAR1", bytes(8)])
def test_other_contents_are_left_as_they_are(start: bytes) -> None:
    assert encoding_of(start) == ""


def test_the_directory_of_an_archive_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", zipfile.ZIP_DEFLATED, **{f"m{number}": b"[%d]" % number for number in range(500)})
    read: list[Path] = []
    listed = zips._listed
    monkeypatch.setattr(zips, "_listed", lambda file, path, *rest: (read.append(path), listed(file, path, *rest))[1])
    assert [content_of(path, name)[0] for name in content.members(path)] == [b"[%d]" % n for n in range(500)]
    assert len(read) == 1


def test_an_archive_of_too_many_members_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", zipfile.ZIP_STORED, a=b"1", b=b"2", c=b"3")
    with SIZES.changed(archive_members=2), pytest.raises(UserError, match=r"has 3 members, more than the limit of 2"):
        content.members(path)
    cut(path, 0.8)
    with SIZES.changed(archive_members=2), pytest.raises(UserError, match="more members than the limit of 2"):
        content.members(path)
    with SIZES.changed(archive_members=3):
        assert content.members(path) == ["a", "b", "c"]


def test_an_archive_whose_members_share_their_bytes_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", zipfile.ZIP_STORED, a=TEXT, b=TEXT)
    data = bytearray(path.read_bytes())
    second = data.rfind(b"PK\1\2")
    data[second + 42 : second + 46] = struct.pack("<L", 0)  # it starts where the first one does
    path.write_bytes(data)
    with pytest.raises(UserError, match="members overlap"):
        content.members(path)


@pytest.mark.parametrize("name", ["a.gz", "a.zip"])
def test_what_unpacks_to_more_than_the_limit_ends_there(tmp_path: Path, name: str) -> None:
    bomb = b"[" + b" " * 10_000_000
    path = tmp_path / name
    if name == "a.zip":
        zipped(path, zipfile.ZIP_DEFLATED, a=bomb)
    else:
        path.write_bytes(gzip.compress(bomb))
    source = Source(path, "a" if name == "a.zip" else "")
    with SIZES.changed(unpacked_bytes=1 << 20, unpacked_times=10):
        got, damage = content_of(path, source.member)
        assert 1 << 20 <= len(got) <= (1 << 20) + 10 * path.stat().st_size
        assert damage.messages == ["it unpacks to more than the limit of 1.00 MiB and 10 times its size"]
        with pytest.raises(UnusableInputError, match="unpacks to more than the limit"):
            content.on_disk(source, tmp_path / "out", Damage())
        assert not (tmp_path / "out").exists()
    assert content_of(path, source.member) == (bomb, Damage())


def blocked(blocks: list[bytes]) -> bytes:
    """An `.xz` file with a block for each of these, as several threads write it."""
    streams = [lzma.compress(one, check=lzma.CHECK_CRC32) for one in blocks]
    out, records = bytearray(streams[0][:12]), bytearray()
    for one, stream in zip(blocks, streams, strict=True):
        length = 4 * (struct.unpack("<L", stream[-8:-4])[0] + 1)
        block = stream[12 : -12 - length]
        # The index of a single block: 0, 1, its size without padding, and that of its content.
        unpadded, _ = varint(stream[-12 - length :], 2)
        out += block
        records += number(unpadded) + number(len(one))
    index = b"\0" + number(len(blocks)) + records
    index += bytes(-len(index) % 4)
    index += struct.pack("<L", zlib.crc32(index))
    footer = struct.pack("<L", len(index) // 4 - 1) + streams[0][6:8]
    return bytes(out + index + struct.pack("<L", zlib.crc32(footer)) + footer + b"YZ")


def number(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + number(value >> 7) if value > 0x7F else bytes([value])


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


PARTS = [TEXT[place : place + 100_000] for place in range(0, len(TEXT), 100_000)]


def test_a_file_of_blocks_comes_out_whole(tmp_path: Path) -> None:
    (tmp_path / "a.xz").write_bytes(blocked(PARTS))
    assert lzma.decompress(blocked(PARTS)) == TEXT
    assert content_of(tmp_path / "a.xz") == (TEXT, Damage())


@pytest.mark.parametrize("at", [0.05, 0.3, 0.6, 0.8])
def test_a_damaged_block_costs_what_is_left_of_it(tmp_path: Path, at: float) -> None:
    (tmp_path / "a.xz").write_bytes(blocked(PARTS))
    got, damage = content_of(changed(tmp_path / "a.xz", at))
    assert sum(part in got for part in PARTS) == len(PARTS) - 1
    assert len(got) <= len(TEXT)
    assert damage.whole
    assert damage.messages[0].startswith("the compressed data is damaged")


def test_two_damaged_blocks_cost_both(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(blocked(PARTS))
    got, _ = content_of(changed(changed(path, 0.05), 0.6))
    assert sum(part in got for part in PARTS) == len(PARTS) - 2


@pytest.mark.parametrize("last", [1, 5, 9, 20])
def test_an_index_that_is_damaged_is_not_followed(tmp_path: Path, last: int) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(blocked(PARTS))
    changed(path, 0.05)
    changed(path, 1 - last / path.stat().st_size)
    got, damage = content_of(path)
    assert len(got) <= len(TEXT)
    assert damage.messages


@pytest.mark.parametrize(("length", "there"), [(1024, True), (1025, False)])
def test_members_without_a_directory_have_names_of_a_usual_length(tmp_path: Path, length: int, there: bool) -> None:
    path = tmp_path / "cut.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("first.json", b"[1]")
        archive.writestr("x" * length, b"[2]")
    path.write_bytes(path.read_bytes().partition(b"PK\x01\x02")[0])
    found = zips.archive_of(path)
    assert found is not None
    assert ("x" * length in found.members) is there
    assert "first.json" in found.members
