"""What the command line does to its own process for speed. `import stepscope` does none of it.

One switch leaves it out: `STEPSCOPE_PLAIN=all`, or some of the names in `TRICKS`, separated by commas. Each says what
it is worth, as `bench/process_speed.py` measures it.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import get_annotations
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from stepscope.model.process.databases import keep_instances
from stepscope.model.process.starting import STARTING
from stepscope.model.process.system import gives_back_large_pages, library_function

#: What is done, and what it is worth: CPU time of `stepscope analyze` of a recording that is in the cache (1.27 s
#: with all of it and 1.90 s without, for 0.8 MB of compressed trace). What is worth less than 10 ms is not done.
TRICKS: Final[Mapping[str, str]] = {
    "classes": "classes of data share functions, and compile the one that makes objects for many: 260 ms of "
    "what importing all rules and analyses takes, by hand, on a busy machine, as the next two",
    "patterns": "patterns are compiled when they are first used: 70 ms",
    "docs": "NumPy's and Arrow's functions get no texts for `help`: 70 ms",
    "pandas": "libraries find no pandas to import: 116 ms",
    "parameters": "paths, texts, flags and defaults of a command are converted without pydantic: 100 ms",
    "heaps": "threads take memory from few heaps, which keep some of what is free: 17 ms",
    "collector": "Python looks for unreachable cycles after 250,000 new objects, not 700: 105 ms",
    "blas": "NumPy's linear algebra starts no thread per core: 13 ms",
    "pages": "NumPy's arrays get small pages where a virtual machine hands large ones that are free back to its host: "
    "half a second or more of a timeline's first view of ten million events, by hand",
    "database": "the last instance of DuckDB stays open: 106 ms where a recording is read anew",
    "ending": "the process ends without freeing every object by itself: 119 ms",
}
SWITCH: Final = "STEPSCOPE_PLAIN"

#: New objects before Python looks for cycles among them.
_OBJECTS: Final = 250_000
#: Options of glibc's `mallopt`: M_ARENA_MAX heaps, few, but enough that threads need not wait for each other;
#: M_TRIM_THRESHOLD bytes are kept, and what is smaller than M_MMAP_THRESHOLD bytes, at most 32 MiB, is of the heap.
_MALLOC: Final = {-8: max(1, (os.cpu_count() or 1) // 2), -1: 128 << 20, -3: 32 << 20}


#: Environment variables that tricks have set in this process.
_SET: Final[dict[str, str]] = {}


def given_environment() -> dict[str, str]:
    """The environment that this process was started with: what it starts for its user is to know of no trick."""
    return {name: value for name, value in os.environ.items() if _SET.get(name) != value}


def wanted(trick: str) -> bool:
    """Whether the switch lets one of `TRICKS` be done."""
    left_out = os.environ.get(SWITCH, "").split(",")
    return trick not in left_out and "all" not in left_out


@contextmanager
def quick_process() -> Iterator[None]:
    """A process in which a command is about to run."""
    if wanted("blas"):
        _set("OPENBLAS_NUM_THREADS", "1")
    if wanted("pages") and gives_back_large_pages():
        _set("NUMPY_MADVISE_HUGEPAGE", "0")
    if wanted("collector"):
        # A report makes a hundred thousand objects that stay, most of them by imports, and a few hundred in cycles.
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    keep_instances(int(wanted("database")))
    finder = _NoPandas()
    if wanted("pandas"):
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        keep_instances(0)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


def _set(name: str, value: str) -> None:
    if name not in os.environ:
        os.environ[name] = _SET[name] = value


def quicken_process() -> None:
    """`quicken_imports` in this process and in those that it spawns for work."""
    quicken_imports()
    STARTING.append(quicken_imports)


def quicken_imports() -> None:
    """Let modules that are imported from now on make less: classes of data, patterns and texts for help.

    `dataclasses` writes and compiles the text of every method of every class; three hundred classes take a tenth of a
    command's processor time. All but `__init__` can be the same for all classes, and that is made for the first
    object. That nobody sets a field of a frozen one is left to the type checker.
    """
    if wanted("classes"):
        dataclasses.dataclass = _data_class
    if wanted("patterns"):
        re.compile = _pattern
    if wanted("docs"):
        sys.modules |= {name: ModuleType(name) for name in _DOCS if name not in sys.modules}
        scraper: Any = sys.modules.setdefault(_SCRAPER, ModuleType(_SCRAPER))
        if not hasattr(scraper, "NumpyDocString"):
            scraper.NumpyDocString = lambda _text: {"Parameters": ()}


#: Modules of libraries that do nothing but to give their functions texts for `help`, and one that takes them apart.
_DOCS: Final = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
_SCRAPER: Final = "pyarrow.vendored.docscrape"

_COMPILE: Final = re.compile


#: What patterns are usually asked.
_METHODS: Final = ("search", "match", "fullmatch", "sub", "split", "findall", "finditer")


class _Pattern:
    """What `re.compile` returns, compiled when it is first asked for anything; what was asked is kept as its own."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        made = _COMPILE(*self._given)
        for one in _METHODS:
            setattr(self, one, getattr(made, one))
        return getattr(made, name)

    def __reduce__(self) -> Any:
        return _COMPILE, self._given


def _pattern(pattern: Any, flags: int = 0) -> Any:
    """What `re.compile` returns for libraries; for modules of stepscope, which never ask of what type it is, later."""
    if sys._getframe(1).f_globals.get("__name__", "").startswith("stepscope."):
        return _Pattern(pattern, flags)
    return _COMPILE(pattern, flags)


_MADE: Final = dataclasses.dataclass
_SHARED: Final = frozenset(("frozen", "slots", "eq", "repr", "kw_only"))
#: What Python gives each class by itself.
_REMADE: Final = ("__dict__", "__weakref__", "__annot")


def _data_class(cls: Any = None, /, **options: Any) -> Any:
    """What `dataclasses.dataclass` returns, with methods that are shared where the options allow."""
    if cls is None:
        return partial(_data_class, **options)
    params = [vars(base).get("__dataclass_params__") for base in cls.__mro__[1:]]
    if any(one is not None and one.frozen for one in params) or not options.keys() <= _SHARED:
        return _MADE(cls, **options)
    own = set(cls.__dict__)
    frozen, equal, shown = options.pop("frozen", False), options.pop("eq", True), options.pop("repr", True)
    body = {name: value for name, value in cls.__dict__.items() if not name.startswith(_REMADE)}
    body["__annotations__"] = get_annotations(cls)
    made: Any = _MADE(cls, **options, eq=False, repr=False, init=False)
    if "__init__" not in own:
        made.__init__ = _first_init(made, body, options.get("kw_only", False))
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {"__repr__": _repr} if shown else {}
    if equal:
        compared = _values(field.name for field in fields if field.compare)
        hashed = _values(field.name for field in fields if (field.compare if field.hash is None else field.hash))
        methods["__eq__"] = lambda one, other: (
            compared(one) == compared(other) if type(one) is type(other) else NotImplemented
        )
        if "__eq__" in own and cls.__hash__ is None:
            own.discard("__hash__")  # Python's own, of a class that only says what equals it
        methods["__hash__"] = (lambda one: hash(hashed(one))) if frozen else None
    if frozen and options.get("slots"):
        # Other processes may have classes that are made as usual.
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


#: Objects of a class that are made without compiling anything, which would take as long.
_UNCOMPILED: Final = 100


def _first_init(made: Any, body: dict[str, Any], kw_only: bool) -> Callable[..., None]:
    """An `__init__` of the first objects, which puts the one that `dataclasses` makes into its place after them.

    Most classes have few objects. What is unusual, or wrong, is left to the other one.
    """
    fields = dataclasses.fields(made)
    named = {field.name for field in fields if field.init}
    positional = [field.name for field in fields if field.init and not field.kw_only]
    others = [field for field in fields if not field.init and field.default is not dataclasses.MISSING]
    left = 0 if others or len(fields) < len(made.__dataclass_fields__) else _UNCOMPILED

    def __init__(self: Any, *args: Any, **values: Any) -> Any:  # noqa: N807 - it is one
        nonlocal left
        left -= 1
        given = dict(zip(positional, args, strict=False)) if left >= 0 and len(args) <= len(positional) else None
        if given is not None and given.keys().isdisjoint(values) and values.keys() <= named:
            given |= values
            for field in fields:
                if field.name in given:
                    setattr(self, field.name, given[field.name])
                elif field.default_factory is not dataclasses.MISSING:
                    setattr(self, field.name, field.default_factory())
                elif field.default is not dataclasses.MISSING:
                    setattr(self, field.name, field.default)
                elif field.init:
                    break  # it is missing
            else:
                return self.__post_init__() if hasattr(made, "__post_init__") else None
        if made.__init__ is __init__:
            made.__init__ = _MADE(type(made)(made.__name__, made.__bases__, body), kw_only=kw_only).__init__
        return made.__init__(self, *args, **values)

    return __init__


def _values(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gets the values of these fields; one field alone would be got without a tuple."""
    first, *others = [*names] or ["__class__"]
    return attrgetter(first, first, *others)


def _repr(one: Any) -> str:
    values = (f"{field.name}={getattr(one, field.name)!r}" for field in dataclasses.fields(one) if field.repr)
    return f"{type(one).__qualname__}({', '.join(values)})"


def _state(one: Any) -> list[Any]:
    return [getattr(one, field.name) for field in dataclasses.fields(one)]


def _set_state(one: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(one), state, strict=True):
        setattr(one, field.name, value)


class _NoPandas:
    """A finder of modules that makes pandas look as if it were not installed.

    PyArrow imports pandas wherever it is installed as soon as it converts anything, to see whether it was given a
    data frame, and no command has one to give. The base class of finders would take 3 ms to import.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=fullname)


def with_few_heaps() -> None:
    """Let threads take memory from the same heaps, which keep some of the memory that they free.

    glibc gives each thread a heap of its own, and hands what is free at its end back at once. Memory that the system
    must give page by page costs more than filling it: a quarter of a report's page faults are saved. Arrow's own heap
    would keep 50 MB more.
    """
    if not wanted("heaps"):
        return
    _set("ARROW_DEFAULT_MEMORY_POOL", "system")
    if sys.platform == "linux" and (mallopt := library_function("mallopt")) is not None:
        for option, value in _MALLOC.items():
            mallopt(option, value)


def convert_plainly(parameters: Iterable[Any]) -> None:
    """Have parameters of a command convert what is plain by themselves, and leave to Typer whatever may be wrong.

    Typer 0.29 builds a pydantic adapter for every parameter of a command, given or not. Versions that don't are left
    as they are.
    """
    if wanted("parameters"):
        for parameter in parameters:
            if hasattr(parameter, "type_descriptor"):
                _quicken(parameter)


def _quicken(parameter: Any) -> None:
    plain = None if parameter.callback else parameter.type_descriptor.annotation
    convert = _CONVERSIONS.get(plain)
    several = getattr(parameter, "multiple", False) or parameter.nargs == -1
    typers_own = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            nothing = () if several else None
            return parameter.callback(ctx, parameter, nothing) if parameter.callback else nothing
        if type(value) in (bool, int, float) and type(value) is plain:
            # A flag, or a number that was not given.
            return value
        if convert is not None and value:
            texts = value if several else [value]
            if all(type(text) is str and (convert is str or _may_pass(text)) for text in texts):
                converted = [convert(text) for text in texts]
                return converted if several else converted[0]
        return typers_own(ctx, value)

    parameter.process_value = process_value


def _may_pass(path: str) -> bool:
    """Whether Typer would find nothing wrong with a path: it is not empty, and readable if it exists."""
    return (bool(path) and not os.path.exists(path)) or os.access(path, os.R_OK)  # noqa: PTH110 - a Path may be refused


_CONVERSIONS: Final[dict[Any, Callable[[str], Any]]] = {Path: Path, list[Path]: Path, str: str, list[str]: str}


def end_at_once(status: int) -> None:
    """End the process, unless somebody watches it, a thread is left to wait for, or its last words can't be said.

    Python would look for cycles among all objects, twice, and free every single one. The system frees all of them
    together.
    """
    if not wanted("ending") or _is_watched() or not _is_alone():
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


def _is_watched() -> bool:
    """Whether somebody wants to know what happens after the command: a debugger, a profiler, a person."""
    return bool(sys.gettrace() or sys.getprofile() or sys.flags.inspect or "--debug" in sys.argv)


def _is_alone() -> bool:
    """Whether no thread is left to wait for."""
    return all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate())
