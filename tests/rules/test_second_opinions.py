"""What `docs/diagnosis-second-opinions.md` says of public recordings."""

from __future__ import annotations

import pytest

from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.signals import Signals
from stepscope.signals.communication import comm_tasks, links
from support import recorded_trace


def codes(path: tuple[str, ...], *families: str) -> set[str]:
    with recorded_trace(*path) as trace:
        return {finding.code for finding in diagnose(trace, Settings(select=families), strict=True).findings}


@pytest.mark.parametrize("export", ["text", "db"])
def test_the_advice_of_msprof_analyze_is_found_or_its_absence_explained(export: str) -> None:
    found = codes(("ascend", f"alexnet_ddp_level1_{export}"), "ascend", "communication", "recording")
    assert {"ASC003", "ASC004", "ASC005", "ASC007", "ASC012", "REC006"} <= found
    assert not found & {"COM002", "COM004", "COM005", "ASC009", "ASC010", "ASC011"}


def test_unaligned_transfers_are_those_that_msprof_analyze_lists_and_as_fast_as_others() -> None:
    with recorded_trace("ascend", "alexnet_ddp_level1_text") as trace:
        s = Signals.of(trace.rank(0))
        odd, every = s(comm_tasks.unaligned), s(comm_tasks.parts)
        sizes = {}
        for collective in set(odd.collective.tolist()):
            mine = every.collective == collective
            sizes[int(every.bytes[mine].sum())] = int(odd.dur[odd.collective == collective].sum())
        # As in its table: total size in bytes, and ns in unaligned transfers.
        assert sizes == {28_647_232: pytest.approx(237_945, abs=1), 17_267_200: pytest.approx(159_063, abs=1)}
        assert odd.rate > s(comm_tasks.aligned).rate
        # Seven links of 17 GB/s, without what each collective takes besides (102 GB/s with it).
        assert s(links.bandwidth) == pytest.approx(120e9, rel=0.01)


def test_operators_on_the_ai_cpu_of_its_own_recordings() -> None:
    assert "ASC001" in codes(("ascend", "mstt_compute_advice"), "ascend")
    assert {"ASC001", "ASC003", "ASC005"} <= codes(("ascend", "mstt_timeline_advice"), "ascend")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # At its peak live memory filled 96 % of what was reserved: what is stranded in the end is no one's trouble.
        ("train_1024_stranded", {"MEM013", "MEM014"}),
        ("train_ctx150", set()),
        ("truncated_ring_forward", {"MEM012"}),
        ("torch20_after_oom", {"MEM017", "REC011"}),
    ],
)
def test_what_memory_snapshots_are_told(name: str, said: set[str]) -> None:
    assert codes(("memory", f"{name}.pickle"), "memory", "recording") == said
