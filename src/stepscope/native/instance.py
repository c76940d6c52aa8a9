"""Instances of the compiled functions, each with a memory of its own."""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    import wasmtime
    from numpy.typing import NDArray

#: The compiled functions.
CODE: Final = Path(__file__).with_name("functions.wasm")
#: Most memory that an instance keeps for its next user.
KEPT_BYTES: Final = 64 << 20
_PAGE: Final = 1 << 16
#: Arrays start at multiples of this: no load of a vector crosses a cache line.
_ALIGNED: Final = 64
#: Readable bytes behind the last array, so that loops may read whole vectors.
_SLACK: Final = 64

_Item = TypeVar("_Item", bound=np.generic)

_free: Final[deque[Instance]] = deque()
_compiling: Final = threading.Lock()


class NativeError(RuntimeError):
    """A compiled function went out of bounds or has not enough memory: an error of stepscope, not of its input."""


@dataclass(frozen=True, slots=True)
class Array(Generic[_Item]):
    """An array in the memory of an instance.

    Attributes:
        address: Where it starts, in bytes.
        size: Number of its items.
        dtype: Their type.
    """

    instance: Instance
    address: int
    size: int
    dtype: np.dtype[_Item]

    @property
    def array(self) -> NDArray[_Item]:
        """A view, which is valid until more is placed in the memory: growing moves it."""
        return self.instance.view(self.address, self.size, self.dtype)


class Instance:
    """The compiled functions with a memory, to be used by one thread at a time.

    Arrays are placed in the memory one behind the other; `clear` removes them all.
    """

    def __init__(self) -> None:
        import wasmtime

        engine, module = _compiled()
        self._store = wasmtime.Store(engine)
        try:
            exports: Any = wasmtime.Instance(self._store, module, []).exports(self._store)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            raise NativeError(f"the compiled functions can't be started: {_first_line(error)}") from error
        self._failures = (wasmtime.WasmtimeError, wasmtime.Trap)
        self._exports = exports
        self._memory: wasmtime.Memory = exports["memory"]
        self._raw = self._taken_anew()
        self._first: int = exports["__heap_base"].value(self._store)
        self._next = self._first

    @property
    def memory_bytes(self) -> int:
        """Size of the memory."""
        return self._raw.size

    def clear(self) -> None:
        """Remove all arrays."""
        self._next = self._first

    def put(self, values: NDArray[_Item]) -> Array[_Item]:
        """Copy an array into the memory."""
        placed = self.room(values.dtype, values.size)
        placed.array[:] = values.reshape(-1)
        return placed

    def put_all(self, parts: Sequence[NDArray[_Item]]) -> Array[_Item]:
        """Copy some arrays, at least one, into the memory, one right behind the other."""
        placed = self.room(parts[0].dtype, sum(part.size for part in parts))
        np.concatenate(parts, out=placed.array)
        return placed

    def room(self, dtype: np.dtype[_Item] | type[_Item], size: int) -> Array[_Item]:
        """Place an array of `size` items, whose values are undefined.

        Raises:
            NativeError: The memory can't grow so far.
        """
        kind = np.dtype(dtype)
        address = -(-self._next // _ALIGNED) * _ALIGNED
        end = address + size * kind.itemsize
        missing = end + _SLACK - self._raw.size
        if missing > 0:
            try:
                self._memory.grow(self._store, -(-missing // _PAGE))
            except self._failures as error:
                raise NativeError(f"{end >> 20} MiB are too much for a compiled function") from error
            self._raw = self._taken_anew()
        self._next = end
        return Array(self, address, size, kind)

    def _taken_anew(self) -> NDArray[np.uint8]:
        """The whole memory, which growing may move."""
        address = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        return np.ctypeslib.as_array((ctypes.c_ubyte * self._memory.data_len(self._store)).from_address(address))

    def view(self, address: int, size: int, dtype: np.dtype[_Item]) -> NDArray[_Item]:
        """Items of the memory from an address on.

        Raises:
            NativeError: They lie outside of it.
        """
        if address < 0 or size < 0 or address + size * dtype.itemsize > self._raw.size:
            raise NativeError("a compiled function told of items outside of its memory")
        return self._raw[address : address + size * dtype.itemsize].view(dtype)

    def call(self, name: str, *arguments: int | Array[Any]) -> int:
        """Call a function with numbers and arrays; returns its result, 0 if it has none. Releases the GIL.

        Raises:
            NativeError: It went out of bounds.
        """
        given = [_signed(one.address) if isinstance(one, Array) else one for one in arguments]
        try:
            return int(self._exports[name](self._store, *given) or 0)
        except self._failures as error:
            raise NativeError(f"the compiled function {name} failed: {_first_line(error)}") from error


@contextmanager
def borrowed() -> Iterator[Instance]:
    """An instance without arrays, for this thread alone within the context; views of its memory end with it."""
    try:
        instance = _free.pop()
    except IndexError:
        instance = Instance()
    instance.clear()
    yield instance
    # After an error, what it holds is of no use any more; of a large one the memory.
    if instance.memory_bytes <= KEPT_BYTES:
        _free.append(instance)


def _compiled() -> tuple[wasmtime.Engine, wasmtime.Module]:
    with _compiling:
        return _compile()


@cache
def _compile() -> tuple[wasmtime.Engine, wasmtime.Module]:
    import wasmtime

    config = wasmtime.Config()
    # Threads of a compiler would be missing in a process that is forked off.
    config.parallel_compilation = False
    if _address_space_is_limited():
        # Bounds are checked in code then, where 4 GiB of addresses are reserved else.
        config.memory_reservation = 0
        config.memory_guard_size = 0
    engine = wasmtime.Engine(config)
    # They can't be freed any more once their library is.
    atexit.register(_forget)
    try:
        return engine, wasmtime.Module(engine, CODE.read_bytes())
    except (wasmtime.WasmtimeError, OSError) as error:
        raise NativeError(f"{CODE.name} can't be compiled: {_first_line(error)}") from error


def _forget() -> None:
    _free.clear()
    _compile.cache_clear()


def _signed(address: int) -> int:
    """An address as WebAssembly's functions take it, of 32 bits with a sign."""
    return address - (1 << 32) if address >= 1 << 31 else address


def _address_space_is_limited() -> bool:
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _first_line(error: Exception) -> str:
    """What a library says of an error, without its stack of addresses."""
    text = str(error)
    _, trap, reason = text.partition("wasm trap: ")
    return (reason if trap else text).strip().partition("\n")[0]
