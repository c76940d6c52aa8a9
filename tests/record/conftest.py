"""Fakes of torch and torch_npu, in the place of what is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from record_support import unload

HERE = Path(__file__).parent


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    unload()
    monkeypatch.syspath_prepend(HERE / "fakes")
    yield
    unload()


@pytest.fixture
def npu(fakes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE / "fakes_npu")
