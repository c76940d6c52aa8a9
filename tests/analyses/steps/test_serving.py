from __future__ import annotations

import pytest

from stepscope.analyses.steps.serving import serving
from stepscope.model.serving_names import Pass, served
from support import Facts


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("step[DECODE bs=32]", Pass("decode", 32, 32), "decode of 32 requests"),
        ("step[EXTEND bs=15 toks=15360]", Pass("prefill", 15, 15_360), "prefill of 15,360 tokens"),
        ("execute_context_1(888_788544)_generation_0(0)", Pass("prefill", 1, 888), "prefill of 888 tokens"),
        (
            "execute_8192_context_9(sq8155sk8430sqsq74sqsk76)_generation_37(sq37sk34489sqsq37sqsk34489)",
            Pass("mixed", 46, 8192),
            "mixed batch of 8,192 tokens",
        ),
        ("execute_context_0_generation_37", Pass("decode", 37, None), "decode of 37 requests"),
        ("execute_context_0(0)_generation_1(1)", Pass("decode", 1, 1), "decode of 1 request"),
    ],
)
def test_names_of_passes(name: str, found: Pass, said: str) -> None:
    assert served(name) == found
    assert str(found) == said


@pytest.mark.parametrize("name", ["step[IDLE bs=0]", "execute_context_0(0)_generation_0(0)", "execute", "step 3"])
def test_names_of_other_ranges(name: str) -> None:
    assert served(name) is None


def test_a_pass_has_the_time_of_the_work_launched_in_it_and_is_counted_once() -> None:
    facts = Facts()
    facts.host("annotation", "execute_32_context_0(sq0sk0)_generation_32(sq32sk327)", 0, 1_000_000)
    facts.host("annotation", "step[DECODE bs=32]", 10_000, 900_000)
    facts.kernel("gemm", 100_000, 1_000_000, launch=(50_000, 1_000))
    facts.kernel("gemm", 1_500_000, 500_000, launch=(60_000, 1_000))
    facts.kernel("gemm", 9_000_000, 500_000, launch=(8_000_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert (row["phase"], row["requests"], row["tokens"], row["device_ns"]) == ("decode", 32, 32, 1_900_000)
    assert row["tokens_per_s"] == pytest.approx(32 / 1.9e-3)


def test_without_such_ranges_there_are_no_rows() -> None:
    facts = Facts()
    facts.host("annotation", "forward", 0, 1_000_000)
    facts.kernel("gemm", 100_000, 1_000_000, launch=(50_000, 1_000))
    assert serving(facts.trace()).records() == []


def test_a_copy_long_before_the_rest_is_no_part_of_the_pass() -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=32]", 0, 900_000)
    facts.kernel("Memcpy HtoD", 60_000, 1_000, launch=(50_000, 1_000), kind="copy")
    facts.kernel("gemm", 50_000_000, 1_000_000, launch=(60_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert row["device_ns"] == 1_000_000


@pytest.mark.parametrize(("gap", "length"), [(501_000, 1_000_000), (499_000, 1_500_000)])
def test_what_parts_a_pass_is_a_gap_half_as_long_as_the_rest(gap: int, length: int) -> None:
    facts = Facts()
    facts.host("annotation", "step[DECODE bs=32]", 0, 900_000)
    facts.kernel("Memcpy HtoD", 60_000, 1_000, launch=(50_000, 1_000), kind="copy")
    facts.kernel("gemm", 61_000 + gap, 1_000_000, launch=(60_000, 1_000))
    (row,) = serving(facts.trace()).records()
    assert row["device_ns"] == length
