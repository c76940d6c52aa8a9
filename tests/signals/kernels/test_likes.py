from __future__ import annotations

import pytest

from operator_support import GEMM, Program
from stepscope.signals import Signals
from stepscope.signals.kernels.likes import uneven


def program(*calls: tuple[int, int, int], kernel: str = GEMM) -> Signals:
    """Gemms of size x 4096 by 4096 x width, each with its duration in µs."""
    made = Program()
    for size, width, dur in calls:
        made.call("aten::mm", (size, 4096), (4096, width), kernel=kernel, dur=dur * 1000)
    made.wait()
    return Signals.of(made.facts.trace())


def test_a_gemm_is_compared_with_the_others_by_their_time() -> None:
    found = program((4096, 8192, 1000), (4096, 4096, 250), (4096, 4096, 250), (4096, 6144, 375))(uneven)
    first = found[0]
    assert (first.sizes.m, first.sizes.k, first.sizes.n) == (4096, 4096, 8192)
    assert first.factor == pytest.approx(0.5)
    assert first.others == 2
    assert first.saved == pytest.approx(0.5 * first.kernel.share)
    assert found[-1].factor == 1.0


def test_small_ones_and_ones_of_another_order_are_not_their_like() -> None:
    assert program((4096, 8192, 1000), (4096, 256, 250))(uneven) == ()
    assert program((512, 512, 100), (65536, 8192, 3000))(uneven) == ()


@pytest.mark.parametrize(("device", "factor"), [("NVIDIA A100-SXM4-80GB", 1.0), ("", 0.5)])
def test_a_gemm_with_few_tiles_is_held_to_what_it_can_fill(device: str, factor: float) -> None:
    """54 tiles on 108 SMs come to half the rate."""
    made = Program()
    if device:
        made.facts.row("devices", device=0, name=device, sms=108)
    made.call("aten::mm", (768, 4096), (4096, 1152), kernel=GEMM, dur=100_000)
    made.call("aten::mm", (1536, 4096), (4096, 2304), kernel=GEMM, dur=200_000)
    made.wait()
    found = {one.sizes.m: one for one in Signals.of(made.facts.trace())(uneven)}
    assert found[768].factor == pytest.approx(factor)


def test_types_are_not_mixed() -> None:
    made = Program()
    made.call("aten::mm", (4096, 4096), (4096, 4096), kernel=GEMM, dur=250_000)
    made.call("aten::mm", (4096, 4096), (4096, 8192), kernel="ampere_sgemm_128x64_tn", dur=9_000_000)
    made.wait()
    assert Signals.of(made.facts.trace())(uneven) == ()
