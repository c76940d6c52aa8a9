from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels.older_kernels import older_attention
from support import Facts

US = 1000
FA2 = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>(Params)"


def signals(*names: str, capability: float | None = None, dur: int = 500) -> Signals:
    f = Facts()
    f.row("devices", device=0, name=None, used=True, compute_capability=None if capability is None else str(capability))
    f.host("op", "aten::mm", 0, 10)
    for i, name in enumerate(names):
        f.kernel(name, (100 + 1000 * i) * US, dur * US, launch=(i * US, 500))
    return Signals.of(f.trace())


@pytest.mark.parametrize(
    ("others", "capability", "count"),
    [
        ((), 9.0, 1),
        ((), 8.0, 0),
        ((), 10.0, 0),
        ((), None, 0),
        (("nvjet_tst_192x192_64x4_2x1_v_bz_TNT",), None, 1),
        (("nvjet_sm100_tst_192x192",), None, 0),
        (("nvjet_tst_192x192_64x4_2x1_v_bz_TNT",), 8.0, 0),
    ],
)
def test_it_is_looked_for_on_hopper_only(others: tuple[str, ...], capability: float | None, count: int) -> None:
    assert signals(FA2, *others, capability=capability)(older_attention).events.size == count


def test_newer_and_short_kernels_do_not_count() -> None:
    third = "void cutlass::device_kernel<flash::FlashAttnFwdSm90<Mainloop>>(Params)"
    assert signals(third, capability=9.0)(older_attention).events.size == 0
    assert signals(FA2, capability=9.0, dur=99)(older_attention).events.size == 0
    found = signals(FA2, capability=9.0, dur=100)(older_attention)
    assert (found.total_ns, found.share) == (100 * US, pytest.approx(1.0))


def test_without_a_device_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 100)
    with pytest.raises(MissingInputError, match="no device activity"):
        Signals.of(f.trace())(older_attention)
