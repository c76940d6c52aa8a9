"""The longest gaps of a device, by what ran before and after them."""

from __future__ import annotations

from stepscope.signals import Signals
from stepscope.signals.host.longest_gaps import longest_gaps
from support import Facts

US = 1_000


def test_gaps_between_the_same_kernels_count_together() -> None:
    f = Facts()
    for i in range(3):
        at = i * 100 * US
        f.step(i, at, 100 * US)
        f.kernel("first", at + 5 * US, 10 * US, launch=(at, US))
        f.kernel("second", at + 45 * US, 10 * US, launch=(at + 40 * US, US))
        f.kernel("third", at + 60 * US, 39 * US, launch=(at + 41 * US, US))
    found = [(gap.dur_ns, gap.count, gap.after, gap.before) for gap in Signals.of(f.trace())(longest_gaps)]
    assert found == [(30 * US, 3, "first", "second"), (6 * US, 2, "third", "first")]


def test_gaps_outside_typical_steps_do_not_count() -> None:
    f = Facts()
    f.step(0, 0, 100 * US)
    f.kernel("only", 10 * US, 80 * US, launch=(5 * US, US))
    f.kernel("later", 900 * US, 10 * US, launch=(890 * US, US))
    found = Signals.of(f.trace())(longest_gaps)
    assert max(gap.dur_ns for gap in found) == 10 * US
