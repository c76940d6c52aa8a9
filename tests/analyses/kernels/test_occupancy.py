"""Waves, tails, occupancy, and how busy the device was."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.analyses.kernels.device_utilisation import device_utilisation
from stepscope.analyses.kernels.occupancy import occupancy
from stepscope.model.errors import MissingInputError
from support import Facts

_LIMITS = {
    "sms": 10, "max_threads_per_sm": 2048, "registers_per_sm": 65536, "shared_bytes_per_sm": 100_000, "warp_size": 32,
}  # fmt: skip


def only(f: Facts) -> dict[str, Any]:
    [row] = occupancy(f.trace()).records()
    return row


@pytest.mark.parametrize(
    ("launch", "resident", "limit"),
    [
        ({"block": [256, 1, 1]}, 8, "threads"),
        ({"block": [16, 16, 1], "registers": 64, "shared_bytes": 1000}, 4, "registers"),
        ({"block": [256, 1, 1], "registers": 64, "shared_bytes": 30_000}, 3, "shared memory"),
        ({"block": [33, 1, 1]}, 32, "threads"),  # 33 threads take two warps
        ({"block": [1024, 1, 1], "registers": 100}, 1, "registers"),  # it ran, so one block fits
    ],
)
def test_what_limits_the_resident_blocks(launch: dict[str, Any], resident: int, limit: str) -> None:
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.kernel("k", 0, 10, grid=[100, 1, 1], **launch)
    row = only(f)
    assert (row["resident_blocks"], row["limit"]) == (resident, limit)


def test_waves_and_the_tail_of_the_last_one() -> None:
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.kernel("k", 0, 10, grid=[10, 10, 1], block=[256, 1, 1], occupancy=0.5)  # 100 of 80 places: 2 waves
    row = only(f)
    assert (row["blocks"], row["waves"], row["fill"]) == (100, 1.25, 1)
    assert row["tail"] == pytest.approx(1 - 100 / 160)
    assert (row["theoretical_occupancy"], row["achieved_occupancy"]) == (1, 0.5)


def test_launches_are_weighted_by_their_time() -> None:
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.kernel("k", 0, 30, grid=[80, 1, 1], block=[256, 1, 1], occupancy=1.0)
    f.kernel("k", 50, 10, grid=[4, 1, 1], block=[256, 1, 1])
    row = only(f)
    assert (row["count"], row["total_ns"], row["waves"]) == (2, 40, pytest.approx((30 * 1 + 10 * 0.05) / 40))
    assert row["fill"] == pytest.approx((30 + 10 * 0.4) / 40)
    assert row["achieved_occupancy"] == 1.0


def test_unknown_limits_leave_the_rest_open() -> None:
    f = Facts()
    f.kernel("k", 0, 10, grid=[100, 1, 1], block=[256, 1, 1])
    row = only(f)
    assert (row["blocks"], row["threads"]) == (100, 256)
    assert all(row[name] is None for name in ("resident_blocks", "limit", "waves", "tail", "theoretical_occupancy"))


def test_without_grids_it_abstains() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    with pytest.raises(MissingInputError):
        occupancy(f.trace())


def test_sms_with_work_per_step() -> None:
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.step(0, 0, 100)
    f.kernel("k", 20, 40, launch=(0, 5), grid=[5, 1, 1], block=[32, 1, 1], occupancy=0.2)
    f.kernel("k", 40, 40, launch=(5, 5), stream="8", grid=[8, 1, 1], block=[32, 1, 1], occupancy=0.6)
    f.step(1, 100, 100)
    f.kernel("k", 150, 10, launch=(110, 5), grid=[100, 1, 1], block=[32, 1, 1])
    first, second, whole = device_utilisation(f.trace()).records()
    # 20 ns of 5 blocks, 20 ns of 13, 20 ns of 8
    assert (first["total_ns"], first["kernel_ns"], first["sm_efficiency"]) == (100, 60, (100 + 200 + 160) / 1000)
    assert first["achieved_occupancy"] == pytest.approx(0.4)
    assert (second["utilisation"], second["sm_efficiency"], second["achieved_occupancy"]) == (0.1, 0.1, None)
    assert (whole["step"], whole["total_ns"], whole["sm_efficiency"]) == (None, 140, (460 + 100) / 1400)


def test_a_kernel_across_steps_counts_in_each_where_it_runs() -> None:
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.step(0, 0, 100)
    f.step(1, 100, 100)
    f.kernel("k", 90, 20, grid=[10, 1, 1], block=[32, 1, 1])
    assert device_utilisation(f.trace()).column("sm_efficiency")[:2] == [20 / 110, 0.0]


def test_without_sms_only_the_time_is_known() -> None:
    f = Facts()
    f.kernel("k", 0, 10, grid=[10, 1, 1], block=[32, 1, 1])
    assert device_utilisation(f.trace()).column("sm_efficiency") == [None, None]
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError):
        device_utilisation(f.trace())


def test_numbers_that_cannot_be_true_break_nothing() -> None:
    most = 2**31 - 1
    f = Facts()
    f.row("devices", device=0, name="some device", **_LIMITS)
    f.kernel("k", 0, 10, grid=[most, 65_535, 1], block=[1024, 1, 1], registers=most, shared_bytes=2**44)
    f.kernel("k", 20, 10, grid=[-1, 0, 5], block=[0, 0, 0])
    f.kernel("k", 40, 10, grid=[most, most, most], block=[most, most, most])
    trace = f.trace()
    [row] = occupancy(trace).records()
    assert (row["count"], row["resident_blocks"], row["fill"]) == (1, 1, 1)
    assert device_utilisation(trace).column("sm_efficiency") == [10 / 50, 10 / 50]
    # The other two have sizes that no kernel can have: they count as not recorded.
    assert trace.scalar("SELECT count FROM health WHERE code = 'amounts-impossible'") == 4
