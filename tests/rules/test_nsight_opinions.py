"""What the expert rules of Nsight Systems advise of public recordings, and what becomes of it here.

The table in `docs/diagnosis-second-opinions.md` says why.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.engine import diagnose
from support import recorded_trace, shared


@dataclass(frozen=True)
class Opinion:
    """Of one recording.

    Attributes:
        advised: How many calls or copies each expert rule lists.
        first: The first finding.
        small: Findings that are kept, but cost less than 1 % of the step.
        absent: Rules that do not fire although an expert rule names their subject.
    """

    advised: dict[str, int]
    first: str
    small: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


OPINIONS = {
    "cloverleaf_sync_heavy": Opinion({"cuda_memcpy_sync": 269, "cuda_api_sync": 1312}, "SYN005", ("CPY001",)),
    "h100_2gpu_1s": Opinion({"cuda_memcpy_async": 4, "cuda_api_sync": 8}, "CPY007", ("SYN002",), ("CPY001",)),
    "lm_2_7b": Opinion({"cuda_api_sync": 1}, "KRN001", (), ("SYN001",)),
    "mfu_2gpu_before": Opinion({"cuda_memcpy_async": 33, "cuda_api_sync": 33}, "KRN018", (), ("CPY001",)),
    "mfu_2gpu_after": Opinion({"cuda_memcpy_async": 30, "cuda_api_sync": 30}, "SYN003", (), ("CPY001",)),
    # A gap of 34 ms between two copies is longer than what page-locked memory saves of 54 ms of copies.
    "old_schema_sync_copies_gaps": Opinion({"cuda_memcpy_sync": 152, "cuda_api_sync": 12}, "HST013", ("SYN001",)),
    "windows_low_util": Opinion({"cuda_memcpy_async": 113, "cuda_api_sync": 124}, "HST002", ("SYN001",), ("CPY001",)),
}


@pytest.fixture(scope="module")
def second() -> dict[str, dict[str, Any]]:
    """The expert rules' results by recording."""
    document = json.loads(shared("nsys", "expected_second_opinion.json").read_text())
    return {name.removesuffix(".sqlite"): found for name, found in document.items()}


def diagnosis(name: str) -> Diagnosis:
    with recorded_trace("nsys", f"{name}.sqlite") as trace:
        return diagnose(trace, strict=True)


@pytest.mark.parametrize("name", OPINIONS)
def test_each_advice_is_found_or_its_absence_explained(name: str, second: dict[str, dict[str, Any]]) -> None:
    opinion, advice = OPINIONS[name], second[name]
    listed = {rule.removeprefix("rule_"): found["n"] for rule, found in advice.items() if rule.startswith("rule_")}
    assert {rule: number for rule, number in listed.items() if number} == opinion.advised
    found = diagnosis(name)
    assert found.findings[0].code == opinion.first
    codes = {finding.code: finding.shown for finding in found.findings}
    assert {code: codes.get(code) for code in opinion.small} == dict.fromkeys(opinion.small, False)
    assert not codes.keys() & set(opinion.absent)


def test_every_recording_has_its_opinion(second: dict[str, dict[str, Any]]) -> None:
    assert second.keys() == OPINIONS.keys()


def test_two_windows_of_one_job_tell_the_same_and_by_how_much_its_host_is_slower() -> None:
    before, after = (diagnosis(f"mfu_2gpu_{when}") for when in ("before", "after"))
    said = [{finding.code for finding in found.shown if finding.cost_ns} for found in (before, after)]
    assert all(codes >= {"KRN009", "KRN011", "SYN003"} for codes in said)
    costs = [next(f.cost_ns or 0 for f in found.findings if f.code == "SYN003") for found in (before, after)]
    # Blocks of the model, one wait in each: 17 in one window, 15 in the other.
    assert costs[1] / 15 > 2 * costs[0] / 17
