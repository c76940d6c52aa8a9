"""Run tests against a mutant, in a forked process: what all of them import is imported once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Final

import duckdb  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pytest

from bench.mutants.mutants import Mutant

#: CPU time after which tests are taken to hang; those of one round need a tenth of it.
_PATIENCE_S: Final = 600
#: How tests end that notice something: one failed, or none could be collected.
_NOTICED: Final = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)


def failing(mutant: Mutant | None, tests: list[str]) -> str | None:
    """The first of these tests that fails with a mutant, or with the code as it is; None if all pass.

    Where a mutant hangs, or can't be imported, that is said in place of a test.

    Raises:
        RuntimeError: The tests could not be run.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(mutant, tests, there))
    process.start()
    there.close()
    process.join()
    if process.exitcode is not None and process.exitcode < 0:
        return "hangs, or ends the process"
    if process.exitcode in _NOTICED:
        try:
            return str(here.recv())
        except EOFError:
            return "stops the collection"
    if process.exitcode != pytest.ExitCode.OK:
        raise RuntimeError(f"pytest ended with {process.exitcode} on {' '.join(tests)}")
    return None


class _First:
    """Tells of the first test that fails."""

    def __init__(self, told: Connection) -> None:
        self._told = told

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._told.send(report.nodeid)


def _run(mutant: Mutant | None, tests: list[str], told: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_PATIENCE_S, _PATIENCE_S))
    if mutant is not None:
        _put_in_place(mutant)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
        status = pytest.main([*options, *tests], plugins=[_First(told)])
    os._exit(int(status))


def _put_in_place(mutant: Mutant) -> None:
    """Have the interpreter load the mutant's text in place of the file's."""
    plain = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        path = self.get_filename(name)
        if Path(path) == mutant.path:
            return self.source_to_code(mutant.text.encode(), path)
        return plain(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
