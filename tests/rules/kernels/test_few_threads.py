from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.signals.kernels.occupying import Limit, Occupying, places
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program


def given(
    limit: Limit, occupancy: float, share: float = 0.3, told: Program | None = None, registers: float | None = 255
) -> dict[object, object]:
    one = Occupying("stencil", np.array([9, 4]), 3_000, share, occupancy, limit, 256, 128, registers, 49152)
    return {places: (one,), job.recorded_steps: 2, program: told or Program(platform="cuda")}


@pytest.mark.parametrize(
    ("limit", "why", "word"),
    [
        ("grid", {"256", "128"}, "blocks"),
        ("registers", {"255", "128"}, "__launch_bounds__"),
        ("shared memory", {"48.0 KiB", "128"}, "tiles in shared memory"),
        ("block size", {"128"}, "128 to 256 threads"),
    ],
)
def test_it_names_what_limits_the_kernel_and_what_to_do(limit: Limit, why: set[str], word: str) -> None:
    (draft,) = drafts("KRN016", given(limit, 0.1))
    assert {"1.50 µs", "30.0 %", "10 %"} | why <= set(figures(draft.summary))
    assert word in draft.actions[0].text + draft.actions[0].after
    assert (draft.cost_ns, draft.change, draft.taken_ns) == (None, None, 1_500)


def test_programs_of_openmp_get_its_clauses() -> None:
    (draft,) = drafts("KRN016", given("grid", 0.1, told=Program(offload="openmp")))
    assert "num_teams" in draft.actions[0].after


def test_an_eighth_just_misses_and_a_quarter_where_the_grid_limits() -> None:
    assert drafts("KRN016", given("registers", 0.125)) == []
    assert len(drafts("KRN016", given("registers", 0.124))) == 1
    assert drafts("KRN016", given("grid", 0.25)) == []
    assert len(drafts("KRN016", given("grid", 0.24))) == 1


def test_less_than_a_twentieth_of_the_step_just_misses() -> None:
    assert drafts("KRN016", given("grid", 0.1, share=0.049)) == []
    assert len(drafts("KRN016", given("grid", 0.1, share=0.05))) == 1


def test_without_grids_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN016", {})


NORM = "void at::native::batch_norm_backward_kernel<c10::BFloat16, float, int>(x)"
TORCH = Program("training", "pytorch", "cuda", "python")


def of_library(name: str, limit: Limit) -> dict[object, object]:
    signals = given(limit, 0.1, told=TORCH)
    signals[places] = tuple(replace(one, name=name) for one in signals[places])  # type: ignore[attr-defined]
    return signals


@pytest.mark.parametrize(
    ("name", "text"),
    [(NORM, "channels_last"), ("void at::native::reduce_kernel<512>(x)", "a larger batch"), ("stencil", "split the")],
)
def test_what_a_library_s_kernel_is_given_is_the_user_s_and_its_grid_is_not(name: str, text: str) -> None:
    (draft,) = drafts("KRN016", of_library(name, "grid"))
    assert [text in action.text for action in draft.actions] == [True]


def test_registers_of_a_library_s_kernel_are_its_own_choice() -> None:
    assert drafts("KRN016", of_library(NORM, "registers")) == []
    assert len(drafts("KRN016", of_library("stencil", "registers"))) == 1
