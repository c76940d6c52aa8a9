"""What is done to the process for speed is done by the command line alone, and can be left out."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, InitVar, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from series import series
from stepscope.cli.main import run
from stepscope.cli.speed import (
    SWITCH,
    TRICKS,
    _data_class,
    _Pattern,
    _pattern,
    convert_plainly,
    given_environment,
    quick_process,
    wanted,
)

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "stepscope"
#: Calls that change the process for all that runs in it.
CHANGES = re.compile(
    r"set_threshold|gc\.freeze|mallopt\b|sys\.meta_path|_run_exitfuncs|OPENBLAS_NUM|ARROW_DEFAULT|"
    r"NUMPY_MADVISE|gc\.disable|dataclasses\.dataclass = |re\.compile = |sys\.modules \|=|"
    r"keep_instances\((?!number: int)"
)


def test_a_library_user_gets_none_of_it() -> None:
    code = """
import atexit, gc, os, signal, sys
def state():
    return (gc.get_threshold(), gc.isenabled(), dict(os.environ), list(sys.meta_path), signal.getsignal(signal.SIGINT))
before = state()
import stepscope
from stepscope.demo import recording
with recording() as path, stepscope.open(path, cache=False) as trace:
    trace.analyze(), trace.whatif(), trace.table("kernels").to_pandas()
assert state() == before, (before, state())
assert not [name for name in sys.modules if name.startswith("stepscope.cli")]
assert "pandas" in sys.modules
"""
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_is_in_one_file() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    files = {name for name, text in sources.items() if CHANGES.search(text)}
    # Texts of rules advise users to do so in their own programs, and a trial does so in them; in a recorded program the
    # import of torch is awaited.
    elsewhere = {
        "rules/host/gc_pauses.py", "rules/host/host_pauses.py", "guide/tree.py", "record/job/imports.py",
        "trying/remedies/host/frozen_gc.py",
    }  # fmt: skip
    assert files - elsewhere == {"cli/speed.py"}


def test_the_switch_leaves_out_all_or_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    assert all(map(wanted, TRICKS))
    monkeypatch.setenv(SWITCH, "pandas,heaps")
    assert {name for name in TRICKS if not wanted(name)} == {"pandas", "heaps"}
    monkeypatch.setenv(SWITCH, "all")
    finders = list(sys.meta_path)
    with quick_process():
        assert sys.meta_path == finders
    assert not any(map(wanted, TRICKS))


@pytest.mark.parametrize(("gives", "left_out", "said"), [(True, "", "0"), (True, "pages", None), (False, "", None)])
def test_arrays_get_small_pages_where_large_ones_are_given_back(
    monkeypatch: pytest.MonkeyPatch, gives: bool, left_out: str, said: str | None
) -> None:
    monkeypatch.setattr("stepscope.cli.speed.gives_back_large_pages", lambda: gives)
    monkeypatch.setenv(SWITCH, left_out)
    monkeypatch.delenv("NUMPY_MADVISE_HUGEPAGE", raising=False)
    with quick_process():
        assert os.environ.get("NUMPY_MADVISE_HUGEPAGE") == said
        assert "NUMPY_MADVISE_HUGEPAGE" not in given_environment()


@pytest.mark.parametrize(("kind", "plain", "else_"), [(bool, True, "yes"), (int, 0, "-3"), (int, 0, True)])
def test_flags_and_numbers_not_given_need_no_converter(kind: type, plain: object, else_: object) -> None:
    parameter = SimpleNamespace(
        type_descriptor=SimpleNamespace(annotation=kind), callback=None, required=False, nargs=1,
        process_value=lambda _ctx, value: f"Typer's {value}",
    )  # fmt: skip
    convert_plainly([parameter])
    assert parameter.process_value(None, plain) is plain
    assert parameter.process_value(None, else_) == f"Typer's {else_}"


@pytest.mark.parametrize("left_out", series(["", "all"], 1))
def test_a_report_is_the_same_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], left_out: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["demo"]) == 0  # here it is without, too
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "demo"], capture_output=True, text=True, check=False,
        env={**os.environ, SWITCH: left_out, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == capsys.readouterr().out


@dataclass(frozen=True, slots=True)
class _Usual:
    one: int
    two: list[int] = field(default_factory=list, repr=False, compare=False)
    three: float = float("nan")


def test_classes_made_quickly_do_what_usual_ones_do() -> None:
    defaults = {"two": field(default_factory=list, repr=False, compare=False), "three": float("nan")}
    quick = _data_class(
        type("_Usual", (), {**defaults, "__annotations__": _Usual.__annotations__}), frozen=True, slots=True
    )
    usual, same, other = quick(1, [2], 3.0), quick(1, [], 3.0), quick(2)
    assert repr(usual) == "_Usual(one=1, three=3.0)" == repr(_Usual(1, [2], 3.0))
    assert usual == same != other
    assert hash(usual) == hash(same)
    assert usual != _Usual(1, [2], 3.0)
    # As other processes take and give them.
    assert usual.__getstate__() == getattr(_Usual(1, [2], 3.0), "__getstate__")()  # noqa: B009
    other.__setstate__(usual.__getstate__())
    assert other == usual
    assert other.two == [2]
    assert replace(usual, one=4) == quick(4, [], 3.0)


def test_classes_of_which_there_is_nothing_to_share_are_made_as_usual() -> None:
    ordered = _data_class(type("_Ordered", (), {"__annotations__": {"one": int}}), order=True)
    assert ordered(1) < ordered(2)
    below = _data_class(type("_Below", (_Usual,), {"__annotations__": {"four": int}, "four": 4}), frozen=True)
    with pytest.raises(FrozenInstanceError):
        below(1).four = 5
    plain = _data_class(type("_Plain", (), {"__annotations__": {"one": int}, "__eq__": lambda *_: True}))
    assert plain(1) == plain(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(plain(1))
    empty = _data_class(type("_Empty", (), {"__annotations__": {}}), frozen=True)
    assert empty() == empty()
    assert hash(empty()) == hash(empty())
    assert repr(empty()) == "_Empty()"
    own = _data_class(type("_Own", (), {"__annotations__": {"one": int}, "__repr__": lambda _: "me"}), eq=False)
    assert repr(own(1)) == "me"
    assert own(1) != own(1)


def test_patterns_are_compiled_when_they_are_first_used() -> None:
    assert isinstance(_pattern("a+"), re.Pattern), "a library may ask of what type it is"
    late = eval("made('(a)b', flags)", {"made": _pattern, "flags": re.IGNORECASE, "__name__": "stepscope.some"})
    assert isinstance(late, _Pattern)
    assert late.sub(r"<\1>", "xABab") == "x<A><a>"
    assert (late.pattern, late.groups, late.flags & re.IGNORECASE) == ("(a)b", 1, re.IGNORECASE)
    assert isinstance(pickle.loads(pickle.dumps(late)), re.Pattern)
    with pytest.raises(re.error):
        _Pattern("(", 0).search("")


def test_classes_are_initialised_as_usual() -> None:
    made: list[object] = []

    class Base:
        here: ClassVar[int] = 3
        given: InitVar[int]
        one: int = field(kw_only=True)
        two: int = 2

        def __post_init__(self, given: int) -> None:
            made.append((self.one, self.two, given))

    base = _data_class(Base, slots=True)

    class Derived(base):
        three: list[int] = field(default_factory=list)

    derived = _data_class(Derived, slots=True)
    first, second = derived(5, one=1), derived(6, 7, [8], one=1)
    assert made == [(1, 2, 5), (1, 7, 6)]
    assert (first.three, second.three) == ([], [8])
    assert base(9, one=0).two == 2
    assert replace(second, three=[], given=1).three == []
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only argument: 'one'"):
        base(1)


def test_an_initialiser_is_compiled_for_many_objects_or_what_is_wrong() -> None:
    def quick() -> Any:
        defaults = {
            "two": field(default_factory=list),
            "three": field(init=False, default_factory=lambda: 3),
            "four": field(init=False),
        }
        annotations = {"one": int, "two": list, "three": int, "four": int}
        return _data_class(type("_Quick", (), {**defaults, "__annotations__": annotations}), slots=True)

    many = quick()
    first = many.__init__
    made = [many(one, two=[one]) if one % 2 else many(one=one) for one in range(300)]
    assert many.__init__ is not first
    assert all(one.two == ([one.one] if one.one % 2 else []) for one in made)
    assert {(one.one, one.three, hasattr(one, "four")) for one in made} == {(one, 3, False) for one in range(300)}
    assert len({id(one.two) for one in made}) == 300
    for args, values, said in (
        ((), {}, "missing 1 required positional argument: 'one'"),
        ((1,), {"one": 2}, "multiple values for argument 'one'"),
        ((1, [], 3), {}, "takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"three": 3}, "unexpected keyword argument 'three'"),
    ):
        with pytest.raises(TypeError, match=said):
            quick()(*args, **values)


def test_help_of_libraries_is_left_out_by_the_command_alone() -> None:
    code = """
from stepscope.cli import speed
{}
import numpy, pyarrow.compute as pc
print(bool(numpy.ndarray.sum.__doc__), pc.sum([1, 2]))
"""
    for start, shown in (("", "True 3"), ("speed.quicken_imports()", "False 3")):
        done = subprocess.run([sys.executable, "-c", code.format(start)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == shown
