"""Pickles that would run code, make objects, or exhaust the memory are refused in one sentence."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from readers.memsnapshot.snapshots import History, block, opened, segment, snapshot, write
from stepscope.model.errors import UserError
from stepscope.readers.memsnapshot import load_json
from stepscope.readers.memsnapshot.guard import MemoryGuard
from stepscope.readers.memsnapshot.load_json import _text
from stepscope.readers.memsnapshot.load_pickle import _PlainUnpickler
from stepscope.readers.memsnapshot.validated_pickle import ValidatedPickle

_CODE = "echo pwned > {target}"


class _Runs:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (_CODE.format(target=self.target),)


class _Persistent(pickle.Pickler):
    def persistent_id(self, obj: object) -> object:
        return "id" if obj == "here" else None


def _raw(*operations: bytes) -> bytes:
    return b"\x80\x04" + b"".join(operations) + b"."


def _short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


_ATTACKS = {
    "GLOBAL": _raw(b"cos\nsystem\n", _short("true"), b"\x85R"),
    "STACK_GLOBAL": _raw(_short("os"), _short("system"), b"\x93", _short("true"), b"\x85R"),
    "INST": _raw(b"(", _short("true"), b"ios\nsystem\n"),
    "REDUCE": _raw(b"NNR"),
    "BUILD": _raw(b"}}b"),
    "OBJ": _raw(b"(No"),
    "NEWOBJ": _raw(b"NN\x81"),
    "NEWOBJ_EX": _raw(b"NNN\x92"),
    "EXT1": _raw(b"\x82\x01"),
    "EXT2": _raw(b"\x83\x01\x00"),
    "EXT4": _raw(b"\x84\x01\x00\x00\x00"),
    "PERSID": _raw(b"Pid\n"),
    "BINPERSID": _raw(_short("id"), b"Q"),
    "NEXT_BUFFER": _raw(b"\x97"),
}


def _refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        opened(path)
    assert error.value.exit_code == 2
    assert error.value.hint
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", _ATTACKS)
def test_operations_that_make_objects_are_refused_by_name(tmp_path: Path, name: str) -> None:
    target = tmp_path / "snapshot.pickle"
    target.write_bytes(_ATTACKS[name])
    message = _refused(target)
    assert "nothing in it was run" in message
    assert any(f"({known})" in message for known in _ATTACKS), message


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_runs_wherever_the_call_hides(tmp_path: Path, protocol: int) -> None:
    for where in range(3):
        witness = tmp_path / "witness"
        history = History()
        for number in range(3000):
            history.alloc(512 * number, 10, "f")
        content = snapshot([segment(0, [block(512)])], history)
        hidden = (content["segments"][0], history.entries[1500]["frames"][0], content)[where]
        hidden["x"] = _Runs(witness)
        assert "nothing in it was run" in _refused(write(tmp_path, content, protocol))
        assert not witness.exists()


def test_persistent_ids_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "snapshot.pickle"
    with target.open("wb") as file:
        _Persistent(file, protocol=4).dump({"segments": [], "device_traces": ["here"]})
    assert "BINPERSID" in _refused(target)


def _stream(*blocks: bytes) -> Iterator[bytes]:
    yield from blocks


def test_the_second_lock_holds_without_the_first() -> None:
    class Unvalidated(ValidatedPickle):
        def __init__(self, data: bytes) -> None:
            self._data, self._at = data, 0

        def read(self, size: int) -> bytes:
            self._at += size
            return self._data[self._at - size : self._at]

        def readline(self) -> bytes:
            end = self._data.index(b"\n", self._at) + 1
            line, self._at = self._data[self._at : end], end
            return line

    for name in ("GLOBAL", "STACK_GLOBAL", "INST"):
        with pytest.raises(pickle.UnpicklingError, match="not admitted"):
            _PlainUnpickler(Unvalidated(_ATTACKS[name]), lambda _: None).load()


_BOMBS = {
    "a string as long as memory": _raw(b"X" + struct.pack("<I", 0xFFFFFFF0)),
    "a string of 8-byte length": _raw(b"\x8d" + struct.pack("<Q", 1 << 60)),
    "bytes": _raw(b"\x8e" + struct.pack("<Q", 1 << 60)),
    "a bytearray": _raw(b"\x96" + struct.pack("<Q", 1 << 60)),
    "a long integer": _raw(b"\x8b" + struct.pack("<I", 0x7FFFFFFF)),
    "a decimal integer": _raw(b"L" + b"9" * 100_000 + b"L\n"),
    "a memo of 64 GB": _raw(b"]r" + struct.pack("<I", 0xFFFFFFFF)),
    "a frame longer than the file": _raw(b"\x95" + struct.pack("<Q", 1 << 62)),
    "nested tuples as a key": _raw(b"}", b")" + b"\x85" * 100_000, b"Ns"),
    "nested lists": _raw(b"]" * 100_000, b"a" * 99_999),
    "a file that ends at once": b"\x80\x04",
    "an unknown byte": _raw(b"\xff"),
    "protocol 9": b"\x80\x09N.",
    "pops of an empty stack": _raw(b"aaaa"),
    "a memo never filled": _raw(b"j\x05\x00\x00\x00"),
}


@pytest.mark.parametrize("name", _BOMBS)
def test_lengths_are_checked_before_memory_is_taken(tmp_path: Path, name: str) -> None:
    target = tmp_path / "snapshot.pickle"
    target.write_bytes(_BOMBS[name])
    _refused(target)


def test_memory_out_of_proportion_stops_the_load() -> None:
    guard = MemoryGuard("bomb", allowance=-(1 << 60))
    blocks = _stream(b"\x80\x04" + b"]" * 1000, b"]" * 1000)
    with pytest.raises(UserError, match="far more memory"):
        _PlainUnpickler(ValidatedPickle(blocks, guard, "bomb"), lambda _: None).load()


def test_lists_that_share_and_contain_themselves_are_taken_once(tmp_path: Path) -> None:
    history = History().alloc(512, 10, "f")
    entries = history.entries
    entries += [entries[0]] * 5000
    content = snapshot([segment(512, [block(512, "active_allocated")])], history, extra=entries)
    content["device_traces"] = [entries] * 50
    content["segments"] *= 50
    entries[0]["frames"].append(entries)
    content["segments"][0]["frames"] = content["segments"]
    with opened(write(tmp_path, content)) as trace:
        counts = [trace.scalar(f"SELECT count(*) FROM {name}") for name in ("allocator_events", "segments", "blocks")]
        assert counts == [1, 1, 1]


@pytest.mark.parametrize("part", [b"{},", b"[],", b"0.1,", b'"",'])
def test_json_that_would_take_far_more_memory_than_it_is_long_is_refused_unread(part: bytes) -> None:
    blocks = (b"[" if not number else part * ((1 << 20) // len(part)) for number in range(200))
    with pytest.raises(UserError, match="more memory as JSON than the limit of 1 GiB and a tenth of its size"):
        _text(blocks, "memory.json")


def test_json_that_takes_more_memory_than_its_text_tells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = iter([100 << 20, 100 << 20, 2 << 30])
    monkeypatch.setattr(load_json, "resident_bytes", lambda: next(grown))
    monkeypatch.setattr(load_json, "_LOOK_OBJECTS", 4)
    frames = '[{"filename": "a.py", "name": "f", "line": 1}]'
    entry = f'{{"action": "alloc", "addr": 1, "size": 512, "stream": 0, "frames": {frames}}}'
    path = tmp_path / "snapshot.json"
    path.write_text(f'{{"segments": [], "device_traces": [[{entry}, {entry}, {entry}]]}}')
    with pytest.raises(UserError, match="more memory as JSON than the limit of 1 GiB"), opened(path):
        pass


def test_json_as_snapshots_are_written_is_admitted() -> None:
    frame = b'{"name": "forward", "filename": "/home/me/project/package/module.py", "line": 123}, '
    block = b'{"action": "alloc", "addr": 123456789012, "size": 4096, "stream": 0, "frames": [' + frame * 12 + b"]}, "
    assert len(_text((block * 900 for _ in range(100)), "memory.json")) == 90_000 * len(block)
