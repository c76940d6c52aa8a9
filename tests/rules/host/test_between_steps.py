from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace
from stepscope.rules.engine import diagnose
from stepscope.signals.host.outside import Between, between
from stepscope.signals.host.own_work import Doing
from support import Facts

US, MS = 1_000, 1_000_000


def decoding(apart: int, *, pause: int = 0, passes: int = 6) -> Trace:
    """Passes of 1,000 us that keep the device busy, each `apart` us after the other; one of them pauses for longer."""
    facts = Facts()
    start = 0
    for number in range(passes):
        facts.host("annotation", "execute_context_0(0)_generation_64(64)", start * US, 1_000 * US)
        for kernel in range(5):
            ts = start + 10 + 198 * kernel
            facts.kernel("gemm", ts * US, 197 * US, launch=((start + 1 + kernel) * US, 900))
        start += 1_000 + apart
        facts.host("op", "aten::argmax", (start - apart) * US, apart * US)
        start += pause if number == 2 else 0
    return facts.trace()


def given(idle: int, period: int, name: str = "") -> dict[object, object]:
    return {between: Between(9, idle, period, Doing(Intervals.union_of([0], [idle]), name), 0.2)}


def test_idle_time_between_steps_is_found_and_named() -> None:
    (draft,) = drafts("HST016", given(250_000, 1_000_000, "schedule"))
    assert figures(draft.summary) == ["25.0 %", "250 µs", "9"]
    assert (draft.cost_ns, draft.recorded_share) == (None, 0.2)


def test_below_a_twentieth_it_is_not() -> None:
    assert drafts("HST016", given(49_999, 1_000_000)) == []
    assert len(drafts("HST016", given(50_000, 1_000_000))) == 1


def test_passes_of_a_server_that_wait_for_its_scheduler_are_not_healthy() -> None:
    trace = decoding(400)
    (finding,) = findings("HST016", trace)
    assert {"28.6 %"} <= set(figures(finding.summary))
    assert {"aten::argmax"} <= set(figures(finding.summary))
    diagnosis = diagnose(trace)
    assert not diagnosis.healthy
    assert diagnosis.shown[0].code == "HST022"
    left = diagnosis.unexplained
    assert left is not None
    assert left.between == pytest.approx(2 / 7)


def test_one_pause_is_no_rule() -> None:
    assert findings("HST016", decoding(10, pause=30_000)) == []


def test_few_steps_tell_nothing() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST016", {})
    assert findings("HST016", decoding(400, passes=3)) == []


def served(apart: int, *events: str, device: bool = False) -> Facts:
    """Ten marked steps of 1 ms of a host without a device, `apart` ms after each other, in which such functions run."""
    facts = Facts()
    for number in range(10):
        at = number * (1 + apart) * 1_000 * US
        facts.host("annotation", f"step[DECODE bs=4] {number}", at, 1_000 * US)
        facts.host("op", "aten::cudnn_convolution" if device else "aten::mm", at, 990 * US)
        for name in events:
            facts.host("python", name, at + 1_000 * US, apart * 1_000 * US)
    return facts


@pytest.mark.parametrize(
    ("events", "word"),
    [
        (("queue.py(154): get",), "waits there for another thread"),
        (("serve.py(3): receive", "<built-in method recv of socket object at 0x7f84ba7dfa60>"), "for a connection"),
        (("serve.py(3): tidy",), "tidy."),
        ((), "does not show"),
    ],
)
def test_wording_of_what_lies_between_the_steps_of_a_host_alone(events: tuple[str, ...], word: str) -> None:
    (finding,) = findings("HST016", served(3, *events).trace(reader="kineto"))
    assert {"3.00 ms", "75.0 %", "9"} <= set(figures(finding.summary))
    assert word in finding.summary
    assert finding.actions


def test_of_a_host_alone_little_time_or_what_may_be_a_device_is_no_finding() -> None:
    alone = {between: Between(9, 3 * MS, 10 * MS, Doing(Intervals.empty()), 0.2, alone=True)}
    assert len(drafts("HST016", alone)) == 1
    for idle, period in ((2.9, 10.0), (1.0, 2.0)):
        told = Between(9, round(idle * MS), round(period * MS), Doing(Intervals.empty()), 0.2, alone=True)
        assert drafts("HST016", {between: told}) == []
    assert findings("HST016", served(3, device=True).trace(reader="kineto")) == []
