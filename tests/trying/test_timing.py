"""Steps of runs that take turns, and why runs fail."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.trying.failures import reason_of
from stepscope.trying.timing import allowed


def test_a_step_has_the_length_of_both_turns_that_it_lies_in() -> None:
    at = np.array([5, 12, 18, 43, 50, 58], np.int64)
    turns = [(10, 20), (40, 60)]
    # 12 to 18; 18 to the end of the turn at 20 and from 40 to 43; then as they are.
    assert np.diff(allowed(at, turns)).tolist() == [6, 5, 7, 8]
    assert allowed(at, []).tolist() == at.tolist()


def test_a_start_after_the_end_of_a_turn_lies_at_its_end() -> None:
    assert allowed(np.array([10, 22, 41]), [(10, 20), (40, 60)]).tolist() == [0, 10, 11]


@pytest.mark.parametrize(
    ("output", "status", "hung", "said"),
    [
        ("torch.OutOfMemoryError: out of memory. Tried", 1, None, "runs out of memory: torch.OutOf"),
        ("Traceback\n  File\nValueError: no such thing", 1, None, "ends with status 1: ValueError: no such thing"),
        ("[rank1]: RuntimeError: x\ntorch.distributed.elastic.ChildFailedError: ", 1, None, "RuntimeError: x"),
        ("", -9, None, "killed by SIGKILL, as the system does when memory runs out"),
        ("", -11, None, "killed by SIGSEGV"),
        ("", None, 90.0, "hangs: 3 steps were timed in 90 s"),
        ("", None, None, "cut short"),
        ("", 0, None, "the program ended after 3 timed steps"),
    ],
)  # fmt: skip
def test_reasons(output: str, status: int | None, hung: float | None, said: str) -> None:
    assert said in reason_of(output, status, 3, hung)
