"""Links against their like: pairs that the library recorded, and groups by their collectives."""

from __future__ import annotations

import pytest
from tests.cluster.job_support import job

from stepscope.cluster.part import GroupPart
from stepscope.cluster.slow_links import slow_links
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.signals.communication.link_rates import Pair
from stepscope.simulate import SimJob, simulate


def paired(slow_ns: int, number: int = 4):
    """A ring in which each rank sends 1 MB to the next in about 100 µs, and rank 2 takes longer."""
    parts = job([[]] * number)
    for rank in range(number):
        ns = slow_ns if rank == 2 else 100_000 + rank
        parts.take(rank, {"links": (Pair(rank, (rank + 1) % number, "HCCS", 10**6, ns, 0.5),)})
    return slow_links(parts).records()


@pytest.mark.parametrize(
    ("slow_ns", "number", "slow"), [(126_000, 4, True), (124_000, 4, False), (126_000, 3, True), (400_000, 2, False)]
)
def test_a_pair_is_slow_by_a_fifth_among_three(slow_ns, number, slow):
    rows = paired(slow_ns, number)
    assert any(row["slow"] for row in rows) is slow
    if slow:
        assert rows[0]["ranks"] == [2, 3 % number]
        assert rows[0]["bandwidth"] == pytest.approx(1e15 / slow_ns)
        assert rows[0]["ratio"] == pytest.approx(rows[0]["bandwidth"] / rows[0]["usual"])
        assert (rows[0]["transport"], rows[0]["like"], rows[0]["bytes"]) == ("HCCS", number, 10**6)


def grouped(hosts):
    """Four pairs that reduce 1 MiB twice; the last one takes twice as long."""
    groups, named = {}, {}
    for rank in range(8):
        first = rank - rank % 2
        named[rank] = f"pair {first}"
        groups[rank] = [GroupPart(named[rank], "", (first, first + 1), 2, ("all_reduce",), 2, 2 << 20)]
    durations = [[200_000 + rank] * 2 if rank >= 6 else [100_000 + rank] * 2 for rank in range(8)]
    return slow_links(job(durations, hosts=hosts, groups=groups, named=named)).records()


def test_groups_are_compared_with_groups_on_as_many_hosts():
    first, *others = grouped(dict.fromkeys(range(8), "a"))
    assert (first["ranks"], first["slow"], first["transport"], first["like"]) == ([6, 7], True, "one host", 4)
    assert first["transfer_ns"] == 200_006
    assert first["bandwidth"] == pytest.approx((1 << 20) * 1e9 / 200_006)  # 2 (n - 1) / n is 1 for a pair
    assert not any(row["slow"] for row in others)
    # The last pair's link is one between hosts: it has no like.
    rows = grouped({rank: "b" if rank == 7 else "a" for rank in range(8)})
    assert not any(row["slow"] for row in rows)


def test_the_link_of_a_simulated_pair_is_named(tmp_path):
    slow = SimJob(
        ranks=3, layers=1, steps=2, hidden=512, device="ascend910b2", slow_link_rank=2, slow_link_peer=0,
        slow_link_factor=3.0,
    )  # fmt: skip
    simulate(slow, tmp_path / "job", "ascend")
    with open_trace(tmp_path / "job", Options(cache=False)) as trace:
        options = ReportOptions(tables=("slow_links",), strict=True)
        rows = build_report(trace, options).tables["slow_links"].records()
    assert [sorted(row["ranks"]) for row in rows if row["slow"]] == [[0, 2], [0, 2]]
    assert rows[0]["ratio"] == pytest.approx(1 / 3, rel=0.02)
