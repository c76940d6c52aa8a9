"""Every remedy: which findings name it, when it fits, and what it sets."""

from __future__ import annotations

import pytest

from stepscope.model.errors import UserError
from stepscope.rules.registry import all_rules
from stepscope.trying.candidates import candidates
from stepscope.trying.exchange import host_exchange
from stepscope.trying.recorded import NamedFinding, with_data_wait
from stepscope.trying.registry import all_remedies, chosen, modules
from stepscope.trying.seen import Constructed, Seen
from support import Facts

LOADER = Constructed(
    "DataLoader", "loader", "t.py", 3, {"num_workers": 0, "pin_memory": False}, {}, {"iterable": False}
)
ADAM = Constructed("Adam", "optimizer", "t.py", 4, {"fused": None, "foreach": None})
DDP = Constructed("DistributedDataParallel", "ddp", "t.py", 5, {"bucket_cap_mb": None})
MODEL = {"class": "Net", "type": "float32", "convolutions": 1, "compiled": False}


def fitting(seen: Seen) -> set[str]:
    return {name for name, one in all_remedies().items() if not one.fits(seen) and name not in ("jemalloc", "tcmalloc")}


def test_remedies_name_rules_that_there_are() -> None:
    for remedy in all_remedies().values():
        assert set(remedy.rules) <= set(all_rules()), remedy.name
        assert set(remedy.excludes) <= set(all_remedies()), remedy.name
        assert all(remedy.name in all_remedies()[other].excludes for other in remedy.excludes), remedy.name
    assert len(modules()) == len(set(modules().values()))


def test_a_program_without_anything_leaves_little_to_try() -> None:
    assert fitting(Seen()) == {"gc-freeze"}


def test_what_fits_a_training_on_the_processor() -> None:
    seen = Seen(cores=4, threads=8, constructed=[LOADER, ADAM], models=[MODEL])
    assert fitting(seen) == {
        "loader-workers", "fused-optimizer", "foreach-optimizer", "compile", "gc-freeze", "threads", "one-thread",
        "autocast-bf16", "channels-last",
    }  # fmt: skip


def test_what_fits_a_job_of_gpus() -> None:
    seen = Seen(
        device="cuda", cores=16, threads=2, world=8, local_world=8, backwards=4, constructed=[LOADER, ADAM, DDP],
        models=[MODEL], calls={"synchronize": 3, "empty_cache": 3, "gc.collect": 3, "zero_grad": 2, "enable_sdp": 1},
        environment={"NCCL_P2P_DISABLE": "1", "CUDA_LAUNCH_BLOCKING": "1"},
    )  # fmt: skip
    others = {
        "loader-prefetch",
        "persistent-workers",
        "threads",
        "task-queue",
        "npu-cpu-affinity",
        "hccl-buffers",
        "hccl-aiv",
    }
    assert fitting(seen) == set(all_remedies()) - others - {"jemalloc", "tcmalloc"}


def test_arguments_that_change() -> None:
    edits = {name: one.edits for name, one in all_remedies().items() if one.edits}
    seen = Seen(cores=16, local_world=2)
    assert edits["loader-workers"]["loader"]({"num_workers": 0}, seen) == {"num_workers": 8, "persistent_workers": True}
    assert not edits["loader-workers"]["loader"]({"num_workers": 0, "iterable": True}, seen)
    assert edits["fused-optimizer"]["optimizer"]({"fused": None, "foreach": False}, seen) == {
        "fused": True,
        "foreach": None,
    }
    assert not edits["fused-optimizer"]["optimizer"]({"lr": 1}, seen)
    assert edits["ddp-bucket-size"]["ddp"]({"bucket_cap_mb": 1}, seen) == {"bucket_cap_mb": 25}
    assert edits["ddp-bucket-size"]["ddp"]({"bucket_cap_mb": None}, seen) == {"bucket_cap_mb": 100}


def test_variables_keep_what_was_set() -> None:
    seen = Seen(device="cuda", environment={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128"})
    expected = "max_split_size_mb:128,expandable_segments:True"
    assert set(all_remedies()["expandable-segments"].variables(seen).values()) == {expected}
    blocking = Seen(environment={"CUDA_LAUNCH_BLOCKING": "1"})
    assert all_remedies()["no-launch-blocking"].variables(blocking) == {"CUDA_LAUNCH_BLOCKING": None}


def test_only_what_a_finding_names_is_tried_the_dearest_first() -> None:
    seen = Seen(cores=2, threads=2, constructed=[LOADER, ADAM], models=[MODEL])
    findings = [NamedFinding("HST008", "", 0.1, True), NamedFinding("DAT001", "", 0.5, True)]
    found = candidates(findings, seen, (), False)
    assert [(one.remedy.name, one.rule, one.share) for one in found] == [
        ("loader-workers", "DAT001", 0.5), ("foreach-optimizer", "HST008", 0.1), ("fused-optimizer", "HST008", 0.1),
    ]  # fmt: skip
    hidden = [NamedFinding("DAT001", "", 0.001, False)]
    assert not candidates(hidden, seen, (), False)
    asked = candidates(hidden, seen, ("tf32", "loader-workers"), False)
    assert [(one.remedy.name, bool(one.unfit)) for one in asked] == [("tf32", True), ("loader-workers", False)]


def test_what_was_seen_comes_first_and_a_price_of_something_else_names_nothing() -> None:
    seen = Seen(cores=2, threads=16, constructed=[LOADER], models=[MODEL], small_operators=500)
    findings = [NamedFinding("DAT001", "", 0.5, True)]
    found = [one.remedy.name for one in candidates(findings, seen, (), False)]
    assert found == ["threads", "loader-workers", "compile", "one-thread"]
    few = Seen(cores=2, threads=1)
    assert not candidates([NamedFinding("SYS007", "", 0.4, True)], few, (), False)
    unpriced = candidates([NamedFinding("SYS007", "", None, True)], few, (), False)
    assert [(one.remedy.name, one.share) for one in unpriced] == [("threads", None)]


def test_a_busy_machine_hides_no_wait_for_batches() -> None:
    busy, wait = NamedFinding("SYS007", "", 0.4, True), NamedFinding("DAT001", "", 0.2, True)
    assert [(one.code, one.share) for one in with_data_wait([busy], 0.16)] == [("SYS007", 0.4), ("DAT001", 0.16)]
    assert with_data_wait([busy], 0.01) == [busy]
    assert with_data_wait([busy, wait], 0.16) == [busy, wait]
    assert with_data_wait([], 0.16) == []


@pytest.mark.parametrize(
    ("workers", "waits", "running", "most"),
    [
        (0, 0.92, 0.1, 0.54),  # two workers sleep for half of the time each
        (0, 0.5, 1.0, 0.5),  # and share two cores
        (0, 0.5, 1.6, 0.2),  # of which the model takes its part
        (0, 0.0, 1.0, 1.0),  # not known
        (1, 0.8, 0.1, 0.5),  # twice as many
    ],
)
def test_workers_are_predicted_to_save_what_they_and_the_cores_can(
    workers: int, waits: float, running: float, most: float
) -> None:
    loader = Constructed("DataLoader", "loader", "t.py", 3, {"num_workers": workers}, {}, {"iterable": False})
    seen = Seen(cores=2, constructed=[loader], waits=waits, running=running)
    (one,) = candidates([NamedFinding("DAT001", "", 1.0, True)], seen, ("loader-workers",), False)
    assert not one.unfit
    assert one.share == pytest.approx(most)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UserError, match="no remedy is called 'compil'"):
        chosen(["compil"])


def test_what_ranks_exchange_through_the_host_is_the_wait_for_it_and_the_calls() -> None:
    facts = Facts()
    for step in range(2):
        at = step * 1_000
        facts.step(step, at, 1_000)
        facts.host("op", "aten::mm", at, 400)
        facts.host("op", "c10d::allreduce_", at + 400, 50)
        # Half of it while the loop computes; what a thread of the backend copies is no wait of the loop's.
        facts.host("annotation", "gloo:all_reduce", at + 200, 600, thread="backend")
        facts.host("op", "aten::copy_", at + 700, 100, thread="backend")
    assert host_exchange(facts.trace()) == (0.4, 1)
    alone = Facts()
    alone.step(0, 0, 1_000)
    alone.host("op", "aten::mm", 0, 400)
    assert host_exchange(alone.trace()) == (0.0, 0)


@pytest.mark.parametrize(
    ("remedy", "findings", "share"),
    [
        ("ddp-no-sync", [], 0.3),  # three of four exchanges
        ("ddp-no-sync", [NamedFinding("COM001", "", 0.2, True)], 0.2),
        ("ddp-bucket-size", [], 0.36),  # two buckets of 25 MiB for each of four passes instead of 80
        ("ddp-bucket-views", [NamedFinding("COM001", "", None, True)], None),
    ],
)
def test_an_exchange_that_no_finding_prices_is_predicted_from_what_was_seen(
    remedy: str, findings: list[NamedFinding], share: float | None
) -> None:
    small = Constructed("DistributedDataParallel", "ddp", "t.py", 5, {"bucket_cap_mb": 1}, {}, {"bytes": 40 << 20})
    seen = Seen(world=2, backwards=4, constructed=[small, ADAM], exchange=0.4, exchanges=80)
    (one,) = candidates(findings, seen, (remedy,), False)
    assert one.share == (None if share is None else pytest.approx(share))
