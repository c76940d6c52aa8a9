from __future__ import annotations

import pytest

from operator_support import GEMM, Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels.dominance import compute, decoding, shortens
from support import Facts

US = 1000


def two_steps() -> Facts:
    """Two steps of 1000 µs; in each 600 µs of gemms, 200 of a sum, and 100 µs that a copy runs alone."""
    f = Facts()
    for i in range(2):
        at = i * 1000 * US
        f.step(i, at, 1000 * US)
        f.kernel(GEMM, at + 20 * US, 300 * US, launch=(at + US, 5 * US))
        f.kernel(GEMM, at + 320 * US, 300 * US, launch=(at + 6 * US, 5 * US))
        f.kernel("reduce_kernel", at + 620 * US, 200 * US, launch=(at + 11 * US, 5 * US))
        f.kernel(
            "Memcpy HtoD (Pageable -> Device)", at + 820 * US, 100 * US, launch=(at + 16 * US, 5 * US), kind="copy"
        )
        f.host("sync", "cudaDeviceSynchronize", at + 30 * US, 895 * US)
    return f


def test_it_says_how_much_of_the_steps_is_compute_and_in_which_kernels() -> None:
    found = Signals.of(two_steps().trace())(compute)
    assert found.length_ns == 2000 * US
    assert found.busy == pytest.approx(0.8)
    assert found.roles == (("gemm", pytest.approx(0.6)), ("reduction", pytest.approx(0.2)))
    first, second = found.kernels
    assert (first.name, first.total_ns, first.mean_ns) == (GEMM, 1200 * US, 300 * US)
    assert first.share == pytest.approx(0.6)
    assert (first.rate, first.efficiency) == (None, None)
    assert second.role == "reduction"


def test_what_lies_outside_the_steps_does_not_count() -> None:
    f = two_steps()
    f.kernel("start_up", 5000 * US, 9000 * US, launch=(4000 * US, 5 * US))
    found = Signals.of(f.trace())(compute)
    assert found.length_ns == 2000 * US
    assert [one.name for one in found.kernels] == [GEMM, "reduce_kernel"]


def test_without_steps_it_is_the_span_of_the_device() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10 * US)
    f.kernel("one", 900 * US, 60 * US, launch=(US, 5 * US))
    f.kernel("two", 980 * US, 20 * US, launch=(7 * US, 5 * US))
    found = Signals.of(f.trace())(compute)
    assert found.length_ns == 100 * US
    assert found.busy == pytest.approx(0.8)


def test_without_steps_a_pause_counts_like_on_the_rest_of_the_page() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10 * US)
    f.kernel("before the cut", 10 * US, 5 * US, launch=(US, 5 * US))
    f.kernel("decode", 900 * US, 90 * US, launch=(7 * US, 5 * US))
    f.kernel("decode", 995 * US, 5 * US, launch=(12 * US, 2 * US))
    found = Signals.of(f.trace())(compute)
    assert (found.length_ns, found.busy) == (990 * US, pytest.approx(0.1, rel=0.02))


def test_operands_of_another_size_are_another_row_with_a_rate_of_its_own() -> None:
    program = Program()
    program.facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB", used=True)
    for size, dur in ((4096, 600_000), (4096, 600_000), (1024, 100_000)):
        program.call("aten::mm", (size, 4096), (4096, 4096), kernel=GEMM, dur=dur)
    program.wait()
    large, small = Signals.of(program.facts.trace())(compute).kernels
    assert (large.events.size, small.events.size) == (2, 1)
    assert large.rate == pytest.approx(2 * 4096**3 / 600e-6)
    assert large.efficiency == pytest.approx(2 * 4096**3 / 312e12 / 600e-6, rel=0.01)
    assert "1024" in small.shapes


def test_decode_steps_of_servers_are_told_from_others() -> None:
    for name, expected in (("step[DECODE bs=32]", True), ("step[EXTEND bs=15 toks=15360]", False)):
        f = Facts()
        f.step(0, 0, 1000 * US)
        f.host("annotation", name, 0, 900 * US)
        f.host("op", "aten::mm", 10 * US, 20 * US)
        f.kernel(GEMM, 50 * US, 500 * US, launch=(12 * US, 5 * US))
        assert Signals.of(f.trace())(decoding) is expected


def test_without_a_device_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 100)
    with pytest.raises(MissingInputError, match="no device activity"):
        Signals.of(f.trace())(compute)


def test_arithmetic_alone_tells_enough_of_what_it_keeps_busy() -> None:
    """Recordings without element types tell no bytes; a GEMM at 60 % of the peak is busy with nothing else."""
    flops = 2 * 4096**3
    for share, efficiency in ((0.6, 0.6), (0.4, None)):
        program = Program()
        program.facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
        long = int(flops / (share * 312e12) * 1e9)
        op, _ = program.call("aten::mm", kernel=GEMM, dur=long)
        program.facts.row("op_inputs", event=op, shapes="[[4096, 4096], [4096, 4096]]")
        (only,) = Signals.of(program.facts.trace())(compute).kernels
        assert only.rate == pytest.approx(share * 312e12, rel=1e-3)
        assert only.efficiency == (efficiency and pytest.approx(efficiency, rel=1e-3))


def test_counters_of_an_npu_tell_how_busy_its_cubes_were() -> None:
    f = Facts()
    events = [f.kernel(GEMM, at * US, long * US) for at, long in ((0, 300), (400, 100))]
    for event, share in zip(events, (0.8, 0.4), strict=True):
        f.row("kernel_metrics", event=event, metric="aic_mac_ratio", value=share)
        f.row("kernel_metrics", event=event, metric="cube_utilization", value=0.9)
    (only,) = Signals.of(f.trace())(compute).kernels
    assert only.efficiency == pytest.approx((0.8 * 300 + 0.4 * 100) / 400 * 0.9)


@pytest.mark.parametrize(("host_us", "least", "most"), [(100, 0.9, 1.0), (990, 0.0, 0.1)])
def test_kernels_beside_a_host_that_takes_as_long_do_not_decide_the_length(
    host_us: int, least: float, most: float
) -> None:
    f = Facts()
    for number in range(3):
        start = number * 1000 * US
        f.step(number, start, 1000 * US)
        for call in range(10):
            at = start + call * host_us * US // 10
            f.host("op", "aten::mm", at, host_us * US // 10)
            f.kernel(GEMM, start + (call * 99 + 8) * US, 98 * US, launch=(at + US, 5 * US))
        f.host("sync", "cudaDeviceSynchronize", start + (host_us + 1) * US, (998 - host_us) * US)
    share = Signals.of(f.trace())(shortens)
    assert least <= share <= most


def test_device_work_without_any_duration_sets_no_length() -> None:
    f = Facts()
    f.kernel(GEMM, 20 * US, 0, launch=(US, 5 * US))
    with pytest.raises(MissingInputError):
        Signals.of(f.trace())(compute)
