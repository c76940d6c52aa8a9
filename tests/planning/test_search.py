"""What is searched, and what is looked at only where nothing else fits."""

from __future__ import annotations

from typing import Any

import pytest

import stepscope
from stepscope.model.errors import UserError
from stepscope.planning.family.reading import read_model
from stepscope.planning.layout import Framework, Schedule
from stepscope.planning.search import impossible, searching
from stepscope.planning.search.space import divisors

SMALL = {"layers": 16, "hidden": 4096, "heads": 32, "vocab": 32000}
LARGE = {**SMALL, "layers": 24, "hidden": 5120}


def test_the_host_keeps_something_only_where_nothing_fits_otherwise() -> None:
    roomy = stepscope.plan("llama3-8b", devices=8, device="a100-80gb", seq=4096, global_batch=64)
    assert {plan.layout.offload for plan in roomy.plans} == {"none"}
    full = stepscope.plan("llama3-70b", devices=8, device="a100-40gb", seq=4096, global_batch=64)
    assert {plan.layout.offload for plan in full.plans} == {"weights"}
    assert all(plan.memory.fits for plan in full.plans)
    # 70.6e9 parameters; weights and two moments of 4 bytes each.
    assert any("on the host: 788 GiB of each server's memory" in note for note in full.plans[0].notes)
    assert not stepscope.plan("llama3-70b", devices=8, device="a100-40gb", global_batch=64, offload="none").plans


def test_zero_bubble_is_offered_where_the_framework_has_it() -> None:
    def schedules(framework: str) -> set[Schedule]:
        found = stepscope.plan(SMALL, devices=8, device="h100", global_batch=64, pp=4, framework=framework, top=40)
        return {plan.layout.schedule for plan in found.plans}

    assert Schedule.ZERO_BUBBLE in schedules(Framework.TORCHTITAN.value)
    assert Schedule.ZERO_BUBBLE not in schedules(Framework.MEGATRON.value)


def test_micro_batches_are_also_threes_and_sixes() -> None:
    # 768 sequences over 128 replicas are 6 each, whose one gather of the weights beats three over a slow network.
    found = stepscope.plan(
        "llama2-70b", devices=128, device="a100-80gb", seq=4096, global_batch=768, tp=1, pp=1, zero=3, recompute="full",
        framework="fsdp", machine={"network": 2.5},
    )  # fmt: skip
    assert [plan.layout.micro_batch for plan in found.plans] == [6, 3, 2, 1]


def test_fsdp_by_itself_has_no_stages_unless_asked_for() -> None:
    asked: dict[str, Any] = {"devices": 64, "device": "h100", "seq": 8192, "global_batch": 256, "framework": "fsdp"}
    found = stepscope.plan("llama3-70b", top=40, **asked)
    assert {(plan.layout.pp, plan.layout.ep) for plan in found.plans} == {(1, 1)}
    assert next(iter(found.settings)) == "fsdp2"
    assert {plan.layout.pp for plan in stepscope.plan("llama3-70b", pp=2, **asked).plans} == {2}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"tp": 3}, "tp 3 x pp 1 x dp 2 x cp 1 is 6 devices, not 8"),
        ({"tp": 16}, "is 16 devices, not 8"),
        ({"ep": 4}, "no experts"),
        ({"dp": 8, "global_batch": 3}, "without a sequence"),
        ({"micro_batch": 16, "global_batch": 8}, "a global batch of 8 is less than micro-batches of 16"),
    ],
)
def test_where_no_layout_can_be_built_the_reason_is_said(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        stepscope.plan(SMALL, devices=8, device="h100", **choice)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"tp": "x"}, "tp is 'x'"), ({"tp": 0}, "tp is 0"), ({"micro_batch": 1.5}, "micro batch is 1.5"),
        ({"seq": [1]}, "seq is"), ({"zero": 4}, "zero is 4"), ({"zero": "9"}, "ZeRO stage"),
        ({"compiled": "no"}, "give true or false"), ({"precision": 3}, "give a word"),
    ],
)  # fmt: skip
def test_a_choice_of_another_kind_is_refused(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        stepscope.plan(SMALL, devices=8, device="h100", **choice)
    assert said in f"{caught.value}; {caught.value.hint}"


def test_precision_is_searched_where_the_device_has_several() -> None:
    def precisions(device: str, **choices: Any) -> list[str]:
        found = stepscope.plan(SMALL, devices=8, device=device, global_batch=64, top=3, **choices)
        return [plan.layout.precision for plan in found.plans]

    # Fewer digits change what is trained: they are one choice away, or taken where nothing else fits.
    assert set(precisions("h100")) == {"bf16"}
    found = stepscope.plan(SMALL, devices=8, device="h100", global_batch=64)
    assert "fp8" in [one.what for one in found.neighbours]
    assert set(precisions("h100", precision="fp8")) == {"fp8"}
    assert set(precisions("h100", precision="bf16")) == {"bf16"}
    assert set(precisions("a100-80gb")) == {"bf16"}
    assert set(precisions("v100")) == {"fp16"}
    assert "fp8" not in precisions("h100", framework="deepspeed")


def test_divisors_are_ascending() -> None:
    assert [divisors(n) for n in (1, 12, 16, 13)] == [[1], [1, 2, 3, 4, 6, 12], [1, 2, 4, 8, 16], [1, 13]]


@pytest.mark.parametrize(
    "changed",
    [
        {"layers": 10**12}, {"experts": float("inf")}, {"hidden": 10**30}, {"kv_heads": 64},
        {"experts": 8, "active_experts": 9},
    ],
)  # fmt: skip
def test_figures_that_no_model_has_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="the model's"):
        stepscope.plan({**SMALL, **changed}, devices=8, device="h100")


@pytest.mark.parametrize(
    "machine", [{"link": 0}, {"per_server": float("nan")}, {"memory": -1}, {"network": "x"}, {"x": 1}]
)
def test_figures_that_no_machine_has_are_refused(machine: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(machine)).replace("_", " ")):
        stepscope.plan(SMALL, devices=16, device="h100", machine=machine)


def test_no_plans_are_not_asked_for() -> None:
    with pytest.raises(UserError, match="top is 0"):
        stepscope.plan(SMALL, devices=8, device="h100", top=0)


def test_heads_that_do_not_divide_the_width_are_said() -> None:
    said = read_model({**SMALL, "heads": 24}).assumed
    assert any("heads 170 wide, though 24 do not divide 4,096" in one for one in said)
    assert not any("divide" in one for one in read_model({**SMALL, "heads": 24, "head_dim": 128}).assumed)


@pytest.mark.parametrize("choices", [{}, {"framework": "torchtitan"}, {"attention": "unfused"}])
def test_what_recomputes_all_layers_shows_that_nothing_else_fits(
    choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[int, list[Any]]:
        asked = {"devices": 8, "device": "a100-40gb", "global_batch": 16, "precision": "bf16", **choices}
        one = stepscope.plan(LARGE, top=9, **asked)
        return one.considered, [plan.layout for plan in one.plans]

    few, quick = found()
    monkeypatch.setattr(searching, "HOPELESS", float("inf"))
    many, slow = found()
    assert quick == slow
    assert few < many


def test_devices_that_cant_be_enough_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"devices": 8, "device": "v100", "global_batch": 8, "seq": 1 << 20, "framework": "fsdp"}
    monkeypatch.setattr(impossible, "search", lambda *_: pytest.fail("64 times the devices lack memory"))
    said = stepscope.plan(SMALL, **asked).remedies
    assert said
    assert not any("of the same kind" in one for one in said)
