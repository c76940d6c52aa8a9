from __future__ import annotations

from typing import Any

import pytest

from stepscope.signals import Signals
from stepscope.signals.kernels.occupying import Occupying, places
from support import Facts

US = 1000


def found(name: str = "stencil", dur: int = 400, **launch: Any) -> tuple[Occupying, ...]:
    """A V100: 80 SMs with places for 2,048 threads, 65,536 registers and 96 KiB of shared memory."""
    f = Facts()
    f.row(
        "devices", device=0, name="Tesla V100-SXM2-16GB", used=True, sms=80, max_threads_per_sm=2048,
        registers_per_sm=65536, shared_bytes_per_sm=98304, warp_size=32,
    )  # fmt: skip
    f.host("op", "aten::mm", 0, 10)
    f.kernel(name, 100 * US, dur * US, launch=(0, 500), **launch)
    f.kernel("other", 600 * US, 600 * US, launch=(600, 500))
    return Signals.of(f.trace())(places)


@pytest.mark.parametrize(
    ("launch", "occupancy", "limit"),
    [
        ({"grid": [256, 1, 1], "block": [128, 1, 1], "registers": 52}, 256 * 128 / (80 * 2048), "grid"),
        ({"grid": [9999, 1, 1], "block": [256, 1, 1], "registers": 255}, 256 / 2048, "registers"),
        ({"grid": [9999, 1, 1], "block": [128, 1, 1], "shared_bytes": 65536}, 128 / 2048, "shared memory"),
        ({"grid": [9999, 1, 1], "block": [2, 1, 1]}, 2 / 32, "block size"),
    ],
)
def test_the_smallest_of_blocks_registers_shared_memory_and_grid_limits(
    launch: dict[str, Any], occupancy: float, limit: str
) -> None:
    (one,) = found(**launch)
    assert one.occupancy == pytest.approx(occupancy)
    assert one.limit == limit
    assert one.share == pytest.approx(400 / 1100)


def test_gemms_and_short_kernels_are_left_out() -> None:
    launch = {"grid": [80, 1, 1], "block": [128, 1, 1], "registers": 255}
    assert found("volta_sgemm_128x64_nn", **launch) == ()
    assert found(dur=99, **launch) == ()
    assert len(found(dur=100, **launch)) == 1
