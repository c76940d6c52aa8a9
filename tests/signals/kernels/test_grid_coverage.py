from __future__ import annotations

import math

import pytest

from operator_support import GEMM, Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels.grid_coverage import sparse
from stepscope.signals.kernels.layouts import conversions
from stepscope.signals.kernels.rooflines import slow
from stepscope.signals.kernels.streams import apart
from stepscope.signals.kernels.waves import tails
from support import Facts

SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<float> > >(T3)"


def on(facts: Facts) -> Signals:
    facts.row(
        "devices", device=0, name="NVIDIA A100-SXM4-80GB", used=True, sms=108, max_threads_per_sm=2048,
        registers_per_sm=65536, shared_bytes_per_sm=167936, warp_size=32,
    )  # fmt: skip
    return Signals.of(facts.trace())


@pytest.mark.parametrize(("blocks", "dur", "number"), [(27, 20_000, 1), (54, 20_000, 0), (27, 19_999, 0)])
def test_long_kernels_of_few_blocks(blocks: int, dur: int, number: int) -> None:
    facts = Facts()
    facts.kernel(SUM, 0, dur, launch=(0, 5), grid=[blocks, 1, 1], block=[256, 1, 1])
    facts.kernel(GEMM, 100_000, dur, launch=(10, 5), grid=[4, 1, 1], block=[256, 1, 1])
    found = on(facts)(sparse)
    assert found.event.size == number
    if number:
        assert found.factor.tolist() == [0.5]
        assert found.saved == 0.5
        assert found.names == (SUM,)


def gemms(small_dur: int, width: int = 1024, kernel: str = GEMM, *, others: int = 0) -> Signals:
    """A GEMM of 1.25 waves beside one of 100 waves; both have the same number of operations per block."""
    program = Program()
    shape = {"block": [256, 1, 1], "registers": 255, "shared_bytes": 0}
    program.call("aten::mm", (12800, 1024), (1024, 13824), kernel=GEMM, dur=1_450_000, grid=[100, 108, 1], **shape)
    program.call("aten::mm", (1920, width), (width, 1152), kernel=kernel, dur=small_dur, grid=[15, 9, 1], **shape)
    for _ in range(others):
        program.call("aten::mm", (1920, width), (width, 1152), kernel="cutlass_gemm_of_a_graph", dur=small_dur)
    return on(program.facts)


def test_gemms_whose_last_wave_is_mostly_empty_and_that_are_slower_by_that() -> None:
    # Half of the empty 37.5 %: 81 % of the other GEMM's rate and less. This one comes to 72 %, then to 30 %.
    found = gemms(50_000, 2048)(tails)
    assert found.factor.tolist() == pytest.approx([0.72], abs=0.01)
    assert found.waves == 1.25
    assert found.tail == 0.375
    assert gemms(120_000, 2048)(tails).factor.tolist() == [0.625]


def test_gemms_without_a_recorded_grid_are_left_out() -> None:
    assert gemms(50_000, 2048, others=1)(tails).factor.tolist() == gemms(50_000, 2048)(tails).factor.tolist()


def test_those_that_are_as_fast_are_none() -> None:
    assert gemms(50_000, 4096)(tails).event.size == 0


def test_those_bound_by_memory_or_of_another_kernel_are_none() -> None:
    assert gemms(120_000, 64)(tails).event.size == 0
    assert gemms(120_000, 2048, GEMM.replace("128x128", "256x128"))(tails).event.size == 0


def test_without_grids_both_abstain() -> None:
    facts = Facts()
    facts.kernel(SUM, 0, 20_000, launch=(0, 5))
    s = on(facts)
    for wanted in (sparse, tails):
        with pytest.raises(MissingInputError):
            s(wanted)


def test_conversions_of_layout_go_with_the_launches_that_are_theirs_alone() -> None:
    facts = Facts()
    facts.kernel("void nchwToNhwcKernel<float, float>(x)", 100, 50, launch=(10, 5))
    both = facts.correlation()
    facts.host("launch", "cudaLaunchKernel", 20, 5, correlation=both)
    facts.kernel("void nhwcToNchwKernel<float, float>(x)", 200, 30, launch=both)
    facts.kernel("cudnn_convolution", 300, 30, launch=both)
    found = on(facts)(conversions)
    assert found.event.tolist() == [1, 3]
    assert found.launches.tolist() == [0]
    assert found.name.startswith("void nchwToNhwc")
    assert found.convolutions


def test_without_conversions_there_are_none() -> None:
    facts = Facts()
    facts.kernel(SUM, 100, 50, launch=(10, 5))
    assert on(facts)(conversions).event.size == 0


def test_operators_far_below_the_roofline() -> None:
    program = Program()
    # 2 x 64 MiB at 2039 GB/s take 66 µs.
    _, event = program.call("aten::exp", (8192, 4096), dur=400_000)
    program.call("aten::exp", (8192, 4000), dur=90_000)
    program.call("aten::exp", (64, 64), dur=40_000)
    found = on(program.facts)(slow)
    assert found.event.tolist() == [event]
    assert found.efficiency.tolist() == pytest.approx([0.165], abs=0.01)
    assert found.rows[0]["name"] == "aten::exp"


def test_gemms_too_small_for_the_device_do_not_count() -> None:
    for columns, number in ((1280, 0), (1408, 1)):
        program = Program()
        program.call("aten::mm", (1280, 64), (64, columns), kernel=GEMM, dur=100_000)
        assert on(program.facts)(slow).event.size == number


def test_what_arithmetic_bounds_is_told_the_best_gemm_of_its_peak() -> None:
    program = Program()
    # 137 GFLOP at 312 TFLOP/s take 441 µs.
    program.call("aten::mm", (4096, 4096), (4096, 4096), kernel=GEMM, dur=880_000)
    _, event = program.call("aten::mm", (4096, 4096), (4096, 4104), kernel=GEMM, dur=2_000_000)
    found = on(program.facts)(slow)
    assert found.event.tolist() == [event]
    assert found.best.tolist() == pytest.approx([0.5], abs=0.01)
    assert math.isnan(on(_pointwise())(slow).best[0])


def _pointwise() -> Facts:
    program = Program()
    program.call("aten::exp", (8192, 4096), dur=400_000)
    return program.facts


def beside(fill: int, launched: int, wait: bool = False) -> Signals:
    facts = Facts()
    facts.step(1, 0, 1_000_000)
    facts.kernel("Mul1", 20_000, 100_000, launch=(10, 5), grid=[fill, 1, 1], block=[64, 1, 1])
    facts.kernel("Mul1", 120_000, 50_000, launch=(launched, 5), grid=[20, 1, 1], block=[64, 1, 1], stream="9")
    if wait:
        facts.host("runtime", "cudaStreamWaitEvent", 40, 5)
    return on(facts)


def test_a_small_kernel_that_waits_while_another_queue_leaves_room() -> None:
    found = beside(20, 20_000)(apart)
    assert found.queues == 2
    assert found.waited.tolist() == [120_000 - 30_005]
    assert found.event.tolist() == [4]


def test_one_that_is_launched_late_or_finds_no_room_does_not_wait_for_that() -> None:
    assert beside(20, 111_000)(apart).event.size == 0
    assert beside(200, 20_000)(apart).event.size == 0


def test_where_queues_wait_for_each_other_it_abstains() -> None:
    with pytest.raises(MissingInputError, match="wait for each other"):
        beside(20, 20_000, wait=True)(apart)


def test_few_launches_of_another_size_are_told_apart() -> None:
    facts = Facts()
    for number, blocks in enumerate((9999, 9999, 9999, 4)):
        facts.kernel(
            SUM, 200_000 * number, 150_000, launch=(200_000 * number, 5), grid=[blocks, 1, 1], block=[256, 1, 1]
        )
    found = on(facts)(sparse)
    assert found.event.size == 1
    assert [row["blocks"] for row in found.rows] == [4]
