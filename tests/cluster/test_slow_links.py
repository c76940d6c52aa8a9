"""Links against their like: pairs that the library recorded, and groups by their collectives."""

from __future__ import annotations

import pytest
from tests.cluster.job_support import job

from stepscope.cluster.messages import MessageKey
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


def sent(slow_ns: int, *, both: bool = True, size: int = 1 << 20):
    """A ring of four ranks that send 1 MiB to the next in 100 µs, each receive 50 µs longer; rank 2 takes longer."""
    parts = job([[]] * 4, hosts=dict.fromkeys(range(4), "a"))
    for rank in range(4):
        ns = slow_ns if rank == 2 else 100_000 + rank
        key, before = (MessageKey("send", "0", one % 4, (one + 1) % 4, 1, 1) for one in (rank, rank + 3))
        received = slow_ns if rank == 3 else 100_000 + (rank + 3) % 4
        parts.take(rank, {"messages": {key: (size, ns), **({before: (size, received + 50_000)} if both else {})}})
    return slow_links(parts).records()


def test_a_pair_is_rated_by_the_shorter_end_of_its_messages():
    rows = sent(126_000)
    assert [(row["ranks"], row["slow"]) for row in rows][:2] == [([2, 3], True), ([3, 0], False)]
    assert (rows[0]["transfer_ns"], rows[0]["bytes"], rows[0]["like"]) == (126_000, 1 << 20, 4)
    assert (rows[0]["between"], rows[0]["transport"]) == ("pair", "one host")
    assert not any(row["slow"] for row in sent(124_000))


def test_messages_of_one_end_or_of_few_bytes_tell_nothing_of_a_link():
    assert sent(126_000, both=False) == sent(126_000, size=(1 << 20) - 1) == []


def test_the_links_of_a_simulated_pipeline(tmp_path):
    """Four stages, of which the last two are linked at a third of the rate; the recording names the other rank."""
    job = SimJob(
        ranks=4, layers=4, steps=2, hidden=512, sequence=1024, stages=4, micro_batches=2, batch=4, link_bandwidth=50e9,
        comm_latency_ns=0, slow_link_rank=3, slow_link_peer=2, slow_link_factor=3.0,
    )  # fmt: skip
    simulate(job, tmp_path / "job")
    with open_trace(tmp_path / "job", Options(cache=False)) as trace:
        recorded = trace.rows("SELECT DISTINCT collective, peer FROM collectives WHERE rank = 1 ORDER BY ALL")
        rows = build_report(trace, ReportOptions(tables=("slow_links",), strict=True)).tables["slow_links"].records()
    assert [tuple(row.values()) for row in recorded] == [("recv", 0), ("recv", 2), ("send", 0), ("send", 2)]
    pairs = {tuple(row["ranks"]): row for row in rows if row["between"] == "pair"}
    assert set(pairs) == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}
    # Two micro-batches of 2 x 1024 x 512 numbers of 2 bytes.
    assert {row["bytes"] for row in pairs.values()} == {2 * 2 * 1024 * 512 * 2}
    assert {pair for pair, row in pairs.items() if row["slow"]} == {(2, 3), (3, 2)}
    for pair, row in pairs.items():
        assert row["bandwidth"] == pytest.approx(50e9 / 3 if 3 in pair else 50e9, rel=0.01)
