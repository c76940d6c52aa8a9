from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.amounts import duration
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Kind, Platform, Program
from stepscope.signals.host.host import late_share
from stepscope.signals.kernels.dominance import Dominance, compute, decoding, shortens
from stepscope.signals.kernels.kernel_times import Alike
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program

MM = Alike(
    "ampere_bf16_gemm", "ampere_bf16_gemm", "gemm", "[[4096,4096],[4096,4096]]", np.array([7, 3]), 700, 0.7, 200e12, 0.4
)


def given(
    busy: float = 0.9, kernels: tuple[Alike, ...] = (MM,), platform: Platform = "cuda", made: bool = False
) -> dict[object, object]:
    roles: dict[str, float] = {}
    for one in kernels:
        roles[one.role] = roles.get(one.role, 0.0) + one.share
    found = Dominance(1000, busy, tuple(roles.items()), kernels)
    told = Program(platform=platform, framework="pytorch", compiled=made)
    return {compute: found, program: told, decoding: False, shortens: 1.0, late_share: 0.1, job.recorded_steps: 2}


def alike(name: str, role: str, share: float, efficiency: float | None = None) -> Alike:
    return Alike(name, name, role, "", np.array([5]), round(1000 * share), share, None, efficiency)


def test_it_names_classes_and_kernels_with_their_rates_and_has_no_price() -> None:
    (draft,) = drafts("KRN015", given())
    assert figures(draft.summary) == [
        "2",
        "200 TFLOP/s",
        "350 ns",
        "4,096",
        "4,096",
        "40 %",
        "70 %",
        "70 %",
        "90.0 %",
        "ampere_bf16_gemm",
    ]
    assert (draft.change, draft.cost_ns) == (None, None)
    assert draft.taken_ns == 350  # of two steps
    assert draft.events.tolist() == [7, 3]


@pytest.mark.parametrize(
    ("kernel", "role", "platform", "made", "word"),
    [
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4", "gemm", "rocm", True, "AITER"),
        ("fused_moe_kernel", "gemm", "cuda", True, "benchmark_moe"),
        ("Cijk_Alik_Bljk_BBS", "gemm", "rocm", False, "TUNABLEOP"),
        ("nvjet_tst", "gemm", "cuda", False, "max-autotune"),
        ("flash_fwd_kernel", "attention", "cuda", False, "sdpa_kernel"),
        ("attn_fwd", "attention", "rocm", False, "ck"),
        ("vectorized_elementwise_kernel", "elementwise", "cuda", False, "torch.compile"),
        ("stencil", "other", "cuda", False, ""),
        ("merge", "other", "other", False, ""),
    ],
)
def test_the_remedy_fits_the_kernels(kernel: str, role: str, platform: Platform, made: bool, word: str) -> None:
    (draft,) = drafts("KRN015", given(kernels=(alike(kernel, role, 0.8),), platform=platform, made=made))
    assert word in draft.actions[0].after


@pytest.mark.parametrize("role", ["gemm", "elementwise", "normalisation", "other"])
def test_compiled_models_are_not_told_to_compile(role: str) -> None:
    (draft,) = drafts("KRN015", given(kernels=(alike("triton_poi_fused_add", role, 0.8),), made=True))
    assert not any("compile" in action.text + action.after for action in draft.actions)


def test_decode_steps_want_narrower_weights_or_more_requests() -> None:
    (draft,) = drafts("KRN015", {**given(platform="rocm"), decoding: True})
    assert "FP8" in draft.actions[0].text


@pytest.mark.parametrize(("kind", "word"), [("training", "autocast"), ("inference", "half()")])
def test_gemms_in_fp32_want_sixteen_bits(kind: Kind, word: str) -> None:
    told = Program(platform="cuda", framework="pytorch", kind=kind)
    wide = alike("volta_sgemm_128x64_nn", "gemm", 0.8)
    (draft,) = drafts("KRN015", {**given(kernels=(wide,)), program: told})
    assert word in draft.actions[0].after


def test_compute_must_be_most_of_the_step_or_one_kernel_a_large_part() -> None:
    kernels = tuple(alike(f"kernel{i}", "other", 0.35) for i in range(2))
    assert drafts("KRN015", given(busy=0.69, kernels=kernels)) == []
    assert len(drafts("KRN015", given(busy=0.7, kernels=kernels))) == 1
    assert drafts("KRN015", given(busy=0.45, kernels=(alike("one", "other", 0.39),))) == []
    assert len(drafts("KRN015", given(busy=0.45, kernels=(alike("one", "other", 0.4),)))) == 1


def test_kernels_that_are_known_to_be_good_do_not_count() -> None:
    good = alike("good", "gemm", 0.65, efficiency=0.6)
    assert drafts("KRN015", given(kernels=(good, alike("rest", "elementwise", 0.29)))) == []
    (draft,) = drafts("KRN015", given(kernels=(good, alike("rest", "elementwise", 0.31))))
    assert "good" not in draft.summary
    assert draft.taken_ns == 155


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN015", {})


@pytest.mark.parametrize(("steps", "often"), [(30, ""), (29, ""), (20, "1.5 times ")])
def test_wording_of_kernels_that_run_once(steps: int, often: str) -> None:
    one = replace(MM, events=np.arange(30))
    (draft,) = drafts("KRN015", {**given(kernels=(one,)), job.recorded_steps: steps})
    assert f"of the step: {often}{duration(one.mean_ns)}" in draft.summary


@pytest.mark.parametrize(
    ("share", "said"), [(0.5, "by faster or fewer kernels only"), (0.49, "that of the host must shrink as well")]
)
def test_wording_where_the_host_takes_as_long_as_kernels(share: float, said: str) -> None:
    (draft,) = drafts("KRN015", {**given(), shortens: share})
    assert said in draft.summary


def test_kernels_too_small_to_be_named_are_looked_into_by_their_class() -> None:
    conv = replace(alike("dgrad", "convolution", 0.04), events=np.array([11]))
    kernels = (replace(alike("bn", "normalisation", 0.045), events=np.array([12])), conv)
    found = Dominance(1000, 0.8, (("convolution", 0.47), ("normalisation", 0.13)), kernels)
    (draft,) = drafts("KRN015", {**given(), compute: found})
    assert draft.events.tolist() == [11]


@pytest.mark.parametrize(("share", "number"), [(0.44, 1), (0.45, 0)])
def test_graphs_without_their_kernels_say_nothing_of_kernels(share: float, number: int) -> None:
    graph = alike("CUDA graph 1", "other", share)
    assert len(drafts("KRN015", given(kernels=(graph, alike("gemm", "gemm", 0.9 - share))))) == number


@pytest.mark.parametrize(("late", "host"), [(0.05, True), (0.049, False)])
def test_wording_of_a_host_that_the_device_hardly_waits_for(late: float, host: bool) -> None:
    """Threads of overlapping requests wait for the device in calls that look like work."""
    (draft,) = drafts("KRN015", {**given(), shortens: 0.1, late_share: late})
    assert ("host must shrink" in draft.summary) is host


@pytest.mark.parametrize(("share", "said"), [(0.19, True), (0.17, False)])
def test_weights_that_are_unpacked_in_every_pass_have_a_remedy_of_their_own(share: float, said: bool) -> None:
    kernels = (alike("kDequantizeBlockwise", "elementwise", share), alike("gemm", "gemm", 0.9 - share))
    (draft,) = drafts("KRN015", given(kernels=kernels))
    assert ("unpacked anew" in draft.actions[0].text) == said
