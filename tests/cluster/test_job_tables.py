"""Tables about a job's ranks together: who is slow, clocks of hosts, groups of parallelism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.cluster.job_support import TIMES, calls, job
from tests.support import recorded_trace

from series import series
from stepscope.cluster.clock_offsets import clock_offsets
from stepscope.cluster.parallel_groups import parallel_groups
from stepscope.cluster.part import GroupPart
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.ingest import Options, open_trace
from stepscope.model.recording import Recording
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import SimJob, simulate

PARTS = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
TABLES = (
    "slow_ranks", "slow_links", "communication_ranks", "group_steps", "operator_ranks", "parallel_groups",
    "cluster_critical_path",
)  # fmt: skip


def recorded(*parts):
    """Rows of the tables about all ranks of a recorded job."""
    tables = build_report(recorded_trace(*parts), ReportOptions(tables=TABLES, strict=True)).tables
    return {name: table.records() for name, table in tables.items()}


def test_the_rank_that_comes_last_makes_the_others_wait():
    """Rank 2 takes 100 µs in each collective, the others 1,100: they wait 1 ms for it, 4 times in 2 steps."""
    slow = replace(TIMES, compute_ns=8_000_000, exposed_comm_ns=1_000_000)
    parts = job([[1_100_000] * 4, [1_100_000] * 4, [100_000] * 4, [1_100_000] * 4], times={2: slow})
    assert [one.waited_ns for one in parts.times.values()] == [2_000_000, 2_000_000, 0, 2_000_000]
    first, *others = slow_ranks(parts).records()
    assert {name: first[name] for name in ("rank", "slow", "reason", "caused_ns", "last", "collectives")} == {
        "rank": 2, "slow": True, "reason": "compute", "caused_ns": 2_000_000, "last": 4, "collectives": 4,
    }  # fmt: skip
    assert [(row["caused_ns"], row["slow"], row["reason"]) for row in others] == [(0, False, None)] * 3
    each = ("compute", "host", "copies", "link", "start")
    assert [first[f"late_{part}_ns"] for part in each] == [2_000_000, 0, 0, 0, 0]
    assert {others[0][f"late_{part}_ns"] for part in each} == {None}


def test_what_ranks_wait_for_one_that_is_held_up_they_wait_for_its_origin():
    """Rank 3 comes last to the collectives of the second stage by 2 ms, since it waits so much longer for rank 0."""
    pipes = {rank: (rank % 3, rank % 3 + 3) for rank in range(6)}
    durations = [[100_000] * 4, *[[1_100_000] * 4] * 2, [100_000] * 4, *[[1_100_000] * 4] * 2]
    parts = job(durations, named={rank: f"d{rank // 3}" for rank in range(6)})
    for rank, times in parts.times.items():
        bubble = 2_000_000 if rank == 3 else 0
        parts.times[rank] = replace(
            times, pipe=pipes[rank], place=rank // 3, waited_ns=times.waited_ns + bubble,
            waits=tuple((step, ns + bubble) for step, ns in times.waits),
        )  # fmt: skip
    rows = slow_ranks(parts).records()
    assert [(row["rank"], row["slow"], row["caused_ns"]) for row in rows[:2]] == [(0, True, 2_000_000), (1, False, 0)]
    assert {row["rank"]: row["stage"] for row in rows} == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1}
    assert [row["last"] for row in rows if row["rank"] == 3] == [4]
    assert [row["caused_ns"] for row in rows[1:]] == [0] * 5


def test_a_rank_of_which_nothing_tells_how_long_it_waits_causes_nobody_knows_what():
    parts = job([[400_000] * 2, [100_000] * 2])
    parts.times = {rank: replace(times, waited_ns=None) for rank, times in parts.times.items()}
    assert [(row["caused_ns"], row["slow"]) for row in slow_ranks(parts).records()] == [(None, False)] * 2


def test_ranks_recorded_at_other_steps_are_not_matched():
    parts = job([[400_000] * 2, [100_000] * 2])
    other = calls(2, [50_000] * 2, [0, 0])
    parts.add(2, Recording("2", "kineto", 2, 3), {**other, "key": other["key"] + 100}, [])
    rows = {row["rank"]: row for row in slow_ranks(parts).records()}
    assert (rows[1]["last"], rows[0]["last"], rows[2]["last"]) == (2, 0, 0)
    assert clock_offsets(parts).records()[2]["collectives"] == 0


def test_offsets_of_clocks_are_those_of_hosts():
    """Host b is 3 ms ahead; ends differ by up to 1 µs, so that its offset is sure and that of c is not."""
    draw = np.random.default_rng(1)
    ends = np.arange(50) * 10**6
    ahead = {"a": 0, "b": 3_000_000, "c": 50}
    hosts = dict(enumerate("aabbcc"))
    stops = [ends + ahead[host] + draw.integers(-500, 500, 50) for host in hosts.values()]
    rows = clock_offsets(job([[1_000] * 50] * 6, stops, hosts=hosts)).records()
    assert [row["collectives"] for row in rows] == [100] * 6
    assert rows[2]["offset_ns"] == rows[3]["offset_ns"] == pytest.approx(3_000_000, abs=300)
    assert [row["sure"] for row in rows] == [False, False, True, True, False, False]
    assert all(100 <= row["residual_ns"] <= 500 for row in rows)


@pytest.mark.parametrize(
    ("description", "name", "kinds", "size", "parallelism", "told_by"),
    [
        ("DATA_PARALLEL_GROUP", "1", ("all_reduce",), 4, "data", "name"),
        ("dp_cp", "586", ("reduce_scatter",), 4, "data", "name"),
        ("tp", "5", ("all_reduce",), 4, "tensor", "name"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "9", ("send", "recv"), 2, "pipeline", "name"),
        ("EXPERT_DATA_PARALLEL_GROUP", "9", ("all_to_all",), 4, "expert", "name"),
        ("cp", "9", ("send_recv",), 2, "context", "name"),
        ("default_pg", "0", ("all_reduce",), 4, "data", "traffic"),
        ("default_pg", "0", ("broadcast",), 4, "world", "name"),
        ("", "7", ("send", "recv"), 2, "pipeline", "traffic"),
        ("", "7", ("all_to_all",), 4, "expert", "traffic"),
        ("", "7", ("all_reduce",), 2, None, None),
    ],
)
def test_groups_are_told_by_their_names_or_traffic(description, name, kinds, size, parallelism, told_by):
    group = GroupPart(name, description, tuple(range(size)), size, kinds, 3, 1024)
    parts = job([[1]] * 4, hosts={0: "a", 1: "a", 2: "b", 3: "b"}, groups={rank: [group] for rank in range(size)})
    [row] = parallel_groups(parts).records()
    assert (row["parallelism"], row["told_by"]) == (parallelism, told_by)
    assert (row["ranks"], row["at_hand"], row["calls"], row["bytes"]) == (
        list(range(size)),
        size,
        3 * size,
        1024 * size,
    )
    assert (row["hosts"], row["across_hosts"]) == ((2, True) if size == 4 else (1, False))


@pytest.mark.parametrize("ranks", series([4, 8], 1))
def test_simulated_ranks_with_a_slow_device_and_clocks_that_differ(tmp_path, ranks):
    simulate(
        SimJob(ranks=ranks, ranks_per_host=2, layers=1, steps=4, noise=0.02, slow_rank=3, slow_factor=4.0,
               clock_offset_ns=2_000_000, hidden=1024, python_ns=500), tmp_path / "job")  # fmt: skip
    with open_trace(tmp_path / "job", Options(store=tmp_path / "store")) as trace:
        tables = build_report(
            trace, ReportOptions(tables=("slow_ranks", "clock_offsets", "parallel_groups"), strict=True)
        ).tables
    first, *others = tables["slow_ranks"].records()
    assert (first["rank"], first["slow"], first["reason"]) == (3, True, "compute")
    assert not any(row["slow"] for row in others)
    offsets = tables["clock_offsets"].column("offset_ns")
    assert offsets == pytest.approx([rank // 2 * 2_000_000 for rank in range(ranks)], abs=20_000)
    [group] = [row for row in tables["parallel_groups"].records() if row["calls"]]
    assert (group["parallelism"], group["ranks"]) == ("data", list(range(ranks)))


def test_eight_recorded_ranks_of_a_recommender():
    """Rank 7 starts its only recorded step last: the others wait for it in the first exchange of embeddings."""
    tables = recorded("kineto", "v100_dlrm_8ranks")
    rows = tables["slow_ranks"]
    assert rows[0]["rank"] == 7
    assert (rows[0]["last"], rows[0]["collectives"], rows[0]["reason"]) == (5, 8, "start")
    # The others wait 6.0 ms as a median, it waits 1.4 ms itself; it begins 3.5 ms later and idles 1.1 ms longer.
    assert rows[0]["caused_ns"] == pytest.approx(4.62e6, rel=0.01)
    assert rows[0]["late_start_ns"] == pytest.approx(3.48e6, rel=0.01)
    assert rows[0]["late_host_ns"] == pytest.approx(1.14e6, rel=0.01)
    # Everything adds up: each rank's step, the ranks' mean one, and the waits of both kinds of collectives.
    assert all(row["step_ns"] == sum(row[part] for part in PARTS) for row in rows)
    every, group = tables["group_steps"]
    assert {part: every[part] for part in PARTS} == {part: sum(row[part] for row in rows) // 8 for part in PARTS}
    assert (every["calls"], every["comm_ns"]) == (8.0, every["transfer_ns"] + every["wait_ns"])
    reduced, exchanged = tables["communication_ranks"]
    assert (reduced["collective"], reduced["count"], exchanged["collective"], exchanged["count"]) == (
        "all_reduce", 3, "all_to_all", 5,
    )  # fmt: skip
    assert group["wait_ns"] == reduced["wait_ns"] + exchanged["wait_ns"] == 1_150_875 + 4_699_875
    assert (exchanged["last_rank"], exchanged["last_share"], exchanged["by_wait"]) == (7, 0.8, 1)
    # 5 to 10 µs each, 56 times; rank 2 takes 7.7 µs on average, the others 7.5.
    [gemm] = [row for row in tables["operator_ranks"] if row["name"] == "volta_sgemm_128x32_nt"]
    assert (gemm["ranks"], gemm["count"], gemm["min_ns"], gemm["max_ns"], gemm["slowest_rank"]) == (
        8,
        56,
        5000,
        10_000,
        2,
    )
    # Rank 4 waits for rank 7 in that exchange; then it sets the pace itself, to the end.
    path = tables["cluster_critical_path"]
    assert [row["start_ns"] for row in path] == [0, *(row["start_ns"] + row["total_ns"] for row in path[:-1])]
    assert path[-1]["start_ns"] + path[-1]["total_ns"] == 19_524_250
    assert list(dict.fromkeys(row["rank"] for row in path)) == [7, 4]
    [crossing] = [row for row in path if row["from_rank"] is not None]
    assert (crossing["rank"], crossing["collective"], crossing["waited_ns"]) == (4, "all_to_all", 1_101_500)
    # Then ranks 4 and 5 are late in the backward pass, by some 0.9 ms.
    assert [row["rank"] for row in rows if row["slow"]] == [7]


def test_two_recorded_ranks_of_alexnet():
    """The four collectives take 5.6 ms longer on rank 0 in all, but rank 1 waits for 93 ms itself: for rank 5."""
    tables = recorded("ascend", "alexnet_ddp_level1_text")
    rows = tables["slow_ranks"]
    assert [(row["rank"], row["last"], row["slow"]) for row in rows] == [(1, 3, False), (0, 1, False)]
    longer = rows[1]["waited_ns"] - rows[0]["waited_ns"]
    # Transfers that queue behind the first wait would else lie behind computing: 0.52 ms of rank 0, 0.56 ms of rank 1.
    assert rows[0]["caused_ns"] == longer == pytest.approx(105_991_878 - 100_375_286 - 36_000, abs=6_000)
    assert rows[0]["waited_ns"] == pytest.approx(92.8e6, rel=0.01)
    # msprof-analyze has 101.963203 ms of uncovered communication on rank 0 and 4.028675 ms behind computing.
    assert rows[1]["exposed_comm_ns"] == pytest.approx(101_963_203, abs=1_000)
    every, _ = tables["group_steps"]
    assert every["exposed_ns"] == sum(row["exposed_comm_ns"] for row in rows) // 2
    assert every["overlapped_ns"] == pytest.approx(4_028_675, rel=0.01)
    [reduced] = tables["communication_ranks"]
    assert (reduced["count"], reduced["last_rank"], reduced["last_share"]) == (4, 1, 0.75)
    assert reduced["transfer_ns"] + reduced["wait_ns"] == pytest.approx((105_991_878 + 100_375_286) / 2, abs=4)
    # Rank 1 loads its batch and launches until that collective.
    path = tables["cluster_critical_path"]
    at = next(number for number, row in enumerate(path) if row["collective"])
    assert {row["rank"] for row in path[: at + 1]} == {1}
    assert (path[at]["collective"], path[at]["from_rank"], path[at]["total_ns"]) == (
        "all_reduce",
        None,
        pytest.approx(73.475e6, abs=1000),
    )
    # Both ranks reach the seven others of their host over HCCS, all equally fast.
    pairs = [row for row in tables["slow_links"] if row["between"] == "pair"]
    assert [(row["like"], row["slow"], row["transport"]) for row in pairs] == [(14, False, "HCCS")] * 14
    assert pairs[0]["usual"] == pytest.approx(15.6e9, rel=0.001)


def test_the_groups_of_two_recorded_ranks_of_a_pipeline():
    tables = recorded("cases", "ascend/qwen3_pp2dp2_level2")
    groups = {row["group"]: row for row in tables["parallel_groups"] if row["calls"]}
    found = {(row["parallelism"], tuple(row["ranks"])) for row in groups.values()}
    assert found == {
        ("world", (0, 1, 2, 3)), ("data", (0, 1)), ("model", (0, 2)), ("model", (1, 3)), ("pipeline", (0, 2)),
        ("pipeline", (1, 3)), ("embedding", (0, 2)), ("embedding", (1, 3)),
    }  # fmt: skip
    # The bubble, 39 % of each rank's step of 0.81 s, is in the three exchanges with the other stage.
    stages = [
        row for row in tables["group_steps"] if row["group"] and groups[row["group"]]["parallelism"] == "pipeline"
    ]
    assert [(row["calls"], round(row["bubble_ns"] / row["step_ns"], 2)) for row in stages] == [(3.0, 0.39), (3.0, 0.4)]
    every = tables["group_steps"][0]
    assert every["bubble_ns"] == sum(row["bubble_ns"] for row in stages) // 2
    # Both ranks run the same stage: they compute for as long, and move as much data.
    assert every["balance"] == pytest.approx(1, abs=0.01)
    assert every["load_balance"] == pytest.approx(1, abs=0.001)
    # `communication.json` of both ranks has eight collectives of common groups: rank 0 came last by 12.52 ms in sum.
    waits = {row["rank"]: (row["caused_ns"], row["waited_ns"], row["collectives"]) for row in tables["slow_ranks"]}
    # Both wait for the other stage as well, 0.3 s in sends and receives, which is the lateness of neither.
    assert waits == {0: (12_520_480, 327_200_840, 8), 1: (0, 348_773_960, 8)}
    assert not any(row["slow"] for row in tables["slow_ranks"])
    # Of the other rank there are sums only, so that the path stays on rank 0; of the other stage there is nothing.
    path = tables["cluster_critical_path"]
    assert {row["rank"] for row in path} == {0}
    assert sum(row["total_ns"] for row in path) == 810_022_360
    waiting = sum(row["part_ns"] for row in path if row["detail"] == "waiting for other ranks")
    assert waiting / 810_022_360 == pytest.approx(0.39, abs=0.01)
