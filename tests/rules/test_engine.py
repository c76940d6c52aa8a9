"""The engine: what rules say becomes a diagnosis, and a rule that fails does not end it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.rules import engine
from stepscope.rules.engine import Diagnosing, diagnose
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Registered, Rule
from stepscope.rules.settings import Settings
from stepscope.signals import Signals
from stepscope.signals.shared.job import device, platform, step_ns, steps
from support import Facts


def trace_of_two_steps() -> Facts:
    facts = Facts()
    for number in range(2):
        facts.step(number, number * 1000, 1000)
        facts.kernel("gemm", number * 1000 + 100, 700, launch=(number * 1000 + 50, 20))
    return facts


def registered(check=None, job_check=None, reads=()) -> Registered:
    rule = Rule("TST001", "test", check=check, job_check=job_check, reads=reads)
    # Rules about memory are asked whatever little is recorded.
    return Registered(rule, "memory", "Title.", "Title.", "tests")


@pytest.fixture
def only(monkeypatch):
    def use(rule: Registered) -> None:
        monkeypatch.setattr(Settings, "chosen", lambda _: [rule])
        monkeypatch.setattr(Settings, "limits", lambda *_: {})

    return use


def test_a_rule_that_lacks_input_is_noted_with_what_to_record(only) -> None:
    def check(s: Signals, limits: Limits) -> Iterator[Draft]:
        raise MissingInputError("no shapes", hint="record shapes")
        yield

    only(registered(check))
    diagnosis = diagnose(trace_of_two_steps().trace())
    (unasked,) = diagnosis.unasked
    assert (unasked.message, unasked.hint, unasked.failed, unasked.ranks) == ("no shapes", "record shapes", False, (0,))
    assert diagnosis.asked == 0
    assert not diagnosis.healthy


@pytest.mark.parametrize(("steps", "summary"), [(2, "9 copies per step."), (0, "9 copies.")])
def test_wording_speaks_of_steps_only_where_there_are_some(only, steps, summary) -> None:
    only(registered(lambda *_: [Draft("Copies", "9 copies per step.", (Action("Copy less"),), cost_ns=500)]))
    facts = Facts()
    for number in range(steps):
        facts.step(number, number * 1000, 1000)
    facts.kernel("gemm", 100, 700, launch=(50, 20))
    (finding,) = diagnose(facts.trace()).findings
    assert finding.summary == summary


def test_a_rule_that_fails_is_noted_and_raises_where_asked_to(only) -> None:
    def check(s: Signals, limits: Limits) -> Iterator[Draft]:
        raise ZeroDivisionError
        yield

    only(registered(check))
    trace = trace_of_two_steps().trace()
    assert diagnose(trace).unasked[0].failed
    with pytest.raises(ZeroDivisionError):
        diagnose(trace, strict=True)


def test_a_job_without_findings_is_not_healthy_where_nobody_could_judge_the_device(only) -> None:
    only(registered(lambda *_: ()))
    diagnosis = diagnose(trace_of_two_steps().trace())
    assert not diagnosis.healthy
    assert diagnosis.unexplained is not None, "two marked steps are enough to say that a third of them is idle"
    assert diagnosis.step_ns == 1000


@pytest.mark.parametrize(
    ("took", "device", "healthy"),
    [(950, "NVIDIA A100-SXM4-80GB", True), (850, "NVIDIA A100-SXM4-80GB", False), (950, "Unheard-of 1", False)],
)
def test_a_device_that_computes_nearly_all_of_the_step_and_is_known_is_well_used(only, took, device, healthy) -> None:
    only(registered(lambda *_: ()))
    facts = Facts()
    facts.row("devices", device=0, name=device)
    for number in range(3):
        facts.step(number, 100_000 * number, 100_000)
        for kernel in range(40):
            start = 100_000 * number + 2_500 * kernel
            facts.kernel("k", start + 10, 25 * took // 10, launch=(start, 5))
    diagnosis = diagnose(facts.trace())
    assert diagnosis.healthy == healthy
    assert (diagnosis.unexplained is None) == healthy
    assert diagnosis.accounts[0].lost == pytest.approx(1 - took / 1000, abs=0.001)


def test_a_rule_about_the_job_reads_the_signals_it_asked_for_of_every_rank(only) -> None:
    seen = {}

    def check(ranks, limits: Limits) -> Iterator[Draft]:
        seen.update({rank: (s(steps), s.maybe(device)) for rank, s in ranks.items()})
        yield Draft("Uneven", "", (), cost_ns=500, ranks=(0,))

    only(registered(job_check=check, reads=(steps,)))
    diagnosing = Diagnosing(strict=True)
    diagnosing.look_at(trace_of_two_steps().trace())
    (found,) = diagnosing.finish().findings
    assert seen == {0: (2, None)}  # the device was not asked for
    assert (found.cost_ns, found.severity, found.gain_ceiling) == (500, "high", 1.0)


def test_signals_are_computed_once() -> None:
    s = Signals.of(trace_of_two_steps().trace())
    assert s(step_ns) == s(step_ns) == 1000
    assert s(platform) == "cuda"
    assert s.sealed([step_ns])(step_ns) == 1000
    with pytest.raises(MissingInputError):
        s.sealed([step_ns])(steps)


def test_every_registered_rule_survives_a_trace_that_has_next_to_nothing() -> None:
    facts = Facts()
    facts.host("op", "aten::add", 0, 10)
    assert not [one for one in engine.diagnose(facts.trace(), strict=True).unasked if one.failed]


@pytest.mark.parametrize(("share", "healthy"), [(None, True), (0.099, True), (0.1, False)])
def test_what_takes_much_of_the_recording_beside_good_steps_takes_their_mark(only, share, healthy) -> None:
    only(registered(lambda *_: (Draft("Title", "Summary.", (Action("Act"),), recorded_share=share),)))
    facts = Facts()
    facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    for number in range(3):
        facts.step(number, 100_000 * number, 100_000)
        for kernel in range(40):
            start = 100_000 * number + 2_500 * kernel
            facts.kernel("k", start + 10, 2_375, launch=(start, 5))
    assert diagnose(facts.trace()).healthy == healthy
