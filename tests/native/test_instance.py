"""The memory of compiled functions: arrays in and out, growing, going out of bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from stepscope.native import instance
from stepscope.native.instance import Instance, NativeError, borrowed
from stepscope.native.nesting import nest

#: As functions.wasm has it.
MOST_BYTES = 1 << 32


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float64])
def test_arrays_come_back_as_they_were_put(dtype: type[np.generic]) -> None:
    with borrowed() as at:
        placed = [at.put(np.arange(size).astype(dtype)) for size in (0, 1, 7, 1000)]
        for one in placed:
            assert one.array.dtype == dtype
            assert one.array.tolist() == np.arange(one.size).astype(dtype).tolist()
        assert all(one.address % 64 == 0 for one in placed)


def test_growing_keeps_what_is_there() -> None:
    at = Instance()
    first = at.put(np.arange(1000))
    before = at.memory_bytes
    at.room(np.uint8, 100 << 20)
    assert at.memory_bytes > before
    assert first.array.tolist() == list(range(1000))


def test_memory_is_bounded() -> None:
    at = Instance()
    with pytest.raises(NativeError, match="4096 MiB are too much"):
        at.room(np.uint8, MOST_BYTES)
    assert at.put(np.arange(3)).array.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "addresses", [(-64, 0, 0, 0, 0), (0, 0, -64, 0, 0), (0, 0, 0, 0, -8), (-(1 << 31), 0, 0, 0, 0)]
)
def test_out_of_bounds_is_one_error(addresses: tuple[int, ...]) -> None:
    with pytest.raises(NativeError, match="nest failed: out of bounds memory access"), borrowed() as at:
        at.call("nest", 10, 0, *addresses)
    assert nest(np.zeros(1, np.int32), np.array([0]), np.array([1]))[0].tolist() == [0]


def test_items_outside_of_the_memory_are_not_looked_at() -> None:
    at = Instance()
    for address, size in ((at.memory_bytes - 7, 1), (-8, 1), (0, -1), (8, 1 << 60)):
        with pytest.raises(NativeError):
            at.view(address, size, np.dtype(np.int64))


def test_an_instance_is_used_again_unless_it_failed_or_is_large() -> None:
    instance._free.clear()
    with borrowed() as first, borrowed() as second:
        assert first is not second
        second.room(np.uint8, instance.KEPT_BYTES)
    with borrowed() as third:
        assert third is first
    with pytest.raises(NativeError), borrowed() as failing:
        failing.call("nest", 10, 0, -8, 0, 0, 0, 0)
    assert not instance._free


def test_threads_do_not_share_memory() -> None:
    def depths(levels: int) -> bool:
        ts = np.arange(levels)
        lane = np.zeros(levels, np.int32)
        return all(nest(lane, ts, 2 * levels - ts)[0].tolist() == list(range(levels)) for _ in range(50))

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(depths, range(100, 900, 10)))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space as Linux has them")
def test_limited_address_space_is_enough() -> None:
    code = (
        "import resource, numpy as np\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from stepscope.native.instance import Instance, NativeError\n"
        "from stepscope.native.nesting import nest\n"
        "print(nest(np.zeros(2, np.int32), np.array([0, 1]), np.array([9, 2]))[1].tolist())\n"
        "try:\n    Instance().call('nest', 10, 0, -8, 0, 0, 0, 0)\nexcept NativeError:\n    print('one error')\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.stderr) == ("[-1, 0]\none error\n", "")


def test_code_that_is_none_is_one_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "functions.wasm").write_bytes(b"\0asm no more")
    monkeypatch.setattr(instance, "CODE", tmp_path / "functions.wasm")
    with pytest.raises(NativeError, match=r"functions\.wasm can't be compiled"):
        instance._compile.__wrapped__()
