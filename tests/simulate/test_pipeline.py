"""Pipelines: places of ranks, the schedule of micro-batches, and what a reader finds of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from series import series
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.rules.engine import diagnose
from stepscope.signals import Signals
from stepscope.signals.communication.pipeline import stage
from stepscope.simulate import SimJob, simulate
from stepscope.simulate.engine.run import Simulation
from stepscope.simulate.faults import inject
from stepscope.simulate.pipeline import stage_of
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.schedule import Kind, StagePass, StageTurn, interleaved
from stepscope.simulate.program.step import compile_step
from stepscope.simulate.specs import Collective

PIPE = SimJob(
    ranks=2, stages=2, micro_batches=4, batch=4, layers=4, hidden=1024, sequence=512, steps=3, op_ns=100, python_ns=100,
    launch_ns=300, link_bandwidth=1e15, comm_latency_ns=0, vocab=16, optimizer="sgd", optimizer_impl="fused",
)  # fmt: skip


def exchanges(job: SimJob, rank: int) -> list[str]:
    """Forwards (F), backwards (B), sends and receives of a step, with the other rank."""
    found = []
    for i in compile_step(job, 128, rank).body:
        what = i.kernel.collective if isinstance(i, ins.Collect) else None
        if isinstance(what, Collective):
            found.append(f"{what.name} {next(other for other in what.between if other != rank)}")
        elif isinstance(i, ins.FrameIn) and i.name.startswith(("nn.Module: TransformerStage", "torch/_tensor")):
            found.append("F" if "Stage" in i.name else "B")
    return found


def test_the_first_stage_runs_ahead_and_then_one_forward_follows_one_backward() -> None:
    job = replace(PIPE, micro_batches=2)
    first = ["F", "send 1", "F", "send 1", "recv 1", "B", "recv 1", "B"]
    last = ["recv 0", "F", "B", "recv 0", "send 0", "F", "B", "send 0"]
    assert (exchanges(job, 0), exchanges(job, 1)) == (first, last)


def test_ranks_of_a_stage_are_neighbours_and_the_last_stage_may_have_other_layers() -> None:
    job = SimJob(ranks=6, stages=3, layers=9, last_stage_layers=2)
    stages = [stage_of(job, rank) for rank in range(6)]
    assert [list(stage.layers) for stage in stages[::2]] == [[0, 1, 2, 3], [4, 5, 6], [7, 8]]
    assert stages[3].replicas.ranks == (2, 3)
    assert stages[3].pipe.ranks == (1, 3, 5)


@pytest.mark.parametrize(("stages", "micro_batches"), [(2, 2), (2, 4), (4, 8)])
def test_the_bubble_is_as_large_as_the_schedule_says(stages: int, micro_batches: int) -> None:
    """With p even stages and m micro-batches, (p - 1) / (m + p - 1) of the step."""
    job = replace(PIPE, ranks=stages, stages=stages, micro_batches=micro_batches, batch=micro_batches)
    job = replace(job, kernel_gap_ns=0, launch_latency_ns=0, event_latency_ns=0)
    simulation = Simulation(job)
    for _ in simulation.batches():
        pass
    for rank in simulation.truth():
        tile = rank["steps"][-1]["tile"]
        waiting = (tile["exposed_comm_ns"] + tile["idle_ns"]) / tile["total_ns"]
        # Embedding, head and optimizer come on top, each on some of the stages or outside the schedule.
        assert waiting == pytest.approx((stages - 1) / (micro_batches + stages - 1), abs=0.07)


@pytest.mark.parametrize(("stages", "parts", "count"), [(2, 2, 4), (4, 2, 8), (3, 3, 3), (4, 4, 4)])
def test_interleaved_ranks_exchange_in_one_order(stages: int, parts: int, count: int) -> None:
    """Each pass runs once, after what it needs has come, and both ends of each exchange come to it in one order."""
    every = interleaved(stages, parts, count)
    between: dict[tuple[int, int], list[list[tuple[int, bool]]]] = {}
    for place, turns in enumerate(every):
        run = [turn.work for turn in turns if turn.peer is None]
        kinds: tuple[Kind, ...] = ("backward", "forward")
        assert sorted(run) == [
            StagePass(kind, part, n) for kind in kinds for part in range(parts) for n in range(count)
        ]
        for turn in turns:
            if turn.peer is not None:
                needs = turns.index(StageTurn(turn.work))
                assert (turns.index(turn) > needs) is turn.sends
                key = min(place, turn.peer), max(place, turn.peer)
                ends = between.setdefault(key, [[], []])
                ends[place > turn.peer].append((place if turn.sends else turn.peer, turn.work.kind == "forward"))
    assert all(first == second for first, second in between.values())
    assert len(between) == (stages if stages > 2 else 1)


@pytest.mark.parametrize("parts", [1, 2])
def test_interleaved_parts_make_the_bubble_smaller(parts: int) -> None:
    """With p stages, m micro-batches and v parts on each rank, (p - 1) / (v m + p - 1) of the step."""
    job = replace(
        PIPE, ranks=4, stages=4, virtual_stages=parts, layers=8, micro_batches=4, kernel_gap_ns=0,
        launch_latency_ns=0, event_latency_ns=0,
    )  # fmt: skip
    simulation = Simulation(job)
    for _ in simulation.batches():
        pass
    for rank in simulation.truth():
        tile = rank["steps"][-1]["tile"]
        waiting = (tile["exposed_comm_ns"] + tile["idle_ns"]) / tile["total_ns"]
        assert waiting == pytest.approx(3 / (4 * parts + 3), abs=0.08)


def test_interleaved_parts_are_seen_by_the_ends_of_a_pipeline(tmp_path) -> None:
    job = replace(PIPE, ranks=4, stages=4, virtual_stages=2, layers=8, micro_batches=4, sequence=64, steps=2)
    simulate(job, tmp_path / "run")
    with open_trace(tmp_path / "run", Options(cache=False)) as trace:
        seen = [Signals.of(trace.rank(rank))(stage) for rank in (0, 1, 3)]
    assert [(one.parts, one.position) for one in seen] == [(2, 0), (1, 1), (2, 3)]


@pytest.mark.parametrize("fault", series(["few-micro-batches", "uneven-stages"], 1))
def test_what_is_wrong_with_a_pipeline_is_found_in_its_recording(fault, tmp_path) -> None:
    job = inject(replace(PIPE, micro_batches=8, batch=8), (fault,))
    simulate(job, tmp_path / "run")
    with open_trace(tmp_path / "run", Options(cache=False)) as trace:
        groups = trace.rank(1).rows('SELECT DISTINCT "group", description, ranks FROM groups ORDER BY 1')
        assert [row["description"] for row in groups if row["ranks"] == [0, 1]][-1] == "PIPELINE_MODEL_PARALLEL_GROUP"
        assert diagnose(trace).shown[0].code == "CLU006"


@pytest.mark.parametrize(
    "changes",
    [
        {"ranks": 3},
        {"layers": 1},
        {"parallel": "fsdp"},
        {"micro_batches": 5},
        {"last_stage_layers": 4},
        {"graph": True},
        {"virtual_stages": 3},
        {"virtual_stages": 2, "micro_batches": 3},
        {"virtual_stages": 2, "last_stage_layers": 1},
        {"virtual_stages": 2, "stages": 1},
    ],
)
def test_what_is_no_pipeline_is_refused(changes, tmp_path) -> None:
    with pytest.raises(UserError):
        simulate(replace(PIPE, **changes), tmp_path / "run")


def test_formats_without_groups_refuse_it(tmp_path) -> None:
    with pytest.raises(UserError, match="not written for pipelines"):
        simulate(PIPE, tmp_path / "run", "nsight")
