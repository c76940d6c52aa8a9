"""The shared recordings conform, and their tables agree with what their tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import check_invariants, check_sniffing, check_splits, open_fresh
from support import shared_traces

RECORDINGS = sorted(((shared_traces() or Path()) / "nsys").glob("*.sqlite")) if shared_traces() else []

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the shared recordings are not beside this checkout")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_real_recording_conforms(path):
    check_sniffing(path)
    with open_fresh(path) as trace:
        check_invariants(trace)
        check_splits(trace)
