from __future__ import annotations

import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import slow_steps
from support import Facts

MS = 1_000_000
NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def given(more_ms: float, kind: str = "work", name: str = "evaluate", others: int = 8) -> dict[object, object]:
    more = round(more_ms * MS)
    return {
        slow_steps.slow_steps: slow_steps.LongSteps(
            (12,), 10 * MS + more, more, 10 * MS, others, 1000 * MS, kind, name, more, ((0, more),)
        )
    }


def test_a_slow_step_is_named_with_what_it_does() -> None:
    (draft,) = drafts("HST020", given(60))
    assert {"12", "70.0 ms", "8", "10.0 ms", "60.0 ms", "9"} <= set(figures(draft.summary))
    assert "evaluate" in draft.summary
    assert (draft.steps, draft.cost_ns, draft.placed_as_ns, draft.recorded_share) == ((12,), None, None, 0.06)


def test_it_must_take_part_of_all_steps() -> None:
    assert drafts("HST020", given(9.9)) == []
    assert len(drafts("HST020", given(10))) == 1
    none = slow_steps.LongSteps()
    assert drafts("HST020", {slow_steps.slow_steps: none, slow_steps.longer_steps: none}) == []


def longer(more_ms: float, kind: str = "collecting", others: int = 8) -> dict[object, object]:
    """Signals with one step that lasts less than twice as long as the others."""
    (told,) = given(more_ms, kind, "gc", others).values()
    return {slow_steps.slow_steps: slow_steps.LongSteps(), slow_steps.longer_steps: told}


def test_a_step_that_lasts_less_than_twice_as_long_is_told_with_its_cause() -> None:
    (draft,) = drafts("HST020", longer(5))
    assert (draft.key, draft.cost_ns, draft.placed_as_ns) == ("longer", None, None)
    assert {"12", "15.0 ms", "10.0 ms", "5.00 ms"} <= set(figures(draft.summary))
    # What varies anyway is no news: it takes little of all steps, or little by itself.
    assert len(drafts("HST020", longer(3, others=13))) == 1
    assert drafts("HST020", longer(3, others=14)) == []
    assert [len(drafts("HST020", longer(3), {"min_ns": ns})) for ns in (3 * MS, 3 * MS + 1)] == [1, 0]


@pytest.mark.parametrize("kind", ["", "compute", "copies", "operators"])
def test_larger_batches_are_no_news(kind: str) -> None:
    assert drafts("HST020", longer(5, kind)) == []


def test_beside_steps_that_last_several_times_as_long_others_are_no_news() -> None:
    assert drafts("HST020", {**longer(5), **given(9.9)}) == []


def test_what_dwarfs_the_loop_stands_first() -> None:
    (below,), (above,) = (drafts("HST020", given(ms)) for ms in (269, 270))
    assert (below.placed_as_ns, above.placed_as_ns) == (None, 30 * MS)


@pytest.mark.parametrize(
    "kind", ["compiling", "loading", "collecting", "saving", "call", "unseen", "communication", ""]
)
def test_each_kind_has_its_words_and_its_advice(kind: str) -> None:
    (draft,) = drafts("HST020", given(60, kind, "cudaMalloc" if kind == "call" else ""))
    assert draft.actions
    assert "{" not in draft.summary


@pytest.mark.parametrize(("kind", "count"), [("shapes", 1), ("operators", 2)])
def test_the_same_operators_point_to_the_machine(kind: str, count: int) -> None:
    found = slow_steps.LongSteps((12,), 70 * MS, 60 * MS, 10 * MS, 8, 1000 * MS, kind, "", 60 * MS, alone=True)
    (draft,) = drafts("HST020", {slow_steps.slow_steps: found})
    assert "60.0 ms" in figures(draft.summary)
    assert ["pidstat" in action.after for action in draft.actions] == [True, False][:count]


def loop(number: int = 6, *, slow: int = 3, length: int = 100 * MS) -> Facts:
    """Steps of 5 ms, of which one has `length` more on the host before its work."""
    facts, at = Facts(), 0
    for step in range(number):
        start, at = at, at + (length if step == slow else 0)
        for _launch in range(4):
            facts.host("op", "aten::mm", at, 50_000)
            facts.kernel("gemm", at + 60_000, 1_190_000, launch=(at + 10_000, 10_000))
            at += 1_250_000
        facts.step(step + 10, start, at - start)
    return facts


def told(facts: Facts) -> tuple[tuple[int, ...], str, str, int]:
    seen = Signals.of(facts.trace())(slow_steps.slow_steps)
    return seen.steps, seen.kind, seen.name, round(seen.took_ns / MS)


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("annotation", "entire_frame_compile (dynamo_timed)", "compiling"),
        ("python", "torch/serialization.py(850): save", "saving"),
        ("python", "train.py(30): evaluate", "work"),
        ("dataloader", NEXT, "loading"),
        ("gc", "gc", "collecting"),
        ("runtime", "cudaFree", "call"),
        (None, "", "unseen"),
    ],
)
def test_what_the_host_does_meanwhile_is_told(category: str | None, name: str, kind: str) -> None:
    facts = loop()
    if category is not None:
        facts.host(category, name, 15 * MS + 1_000, 100 * MS - 2_000)
    assert told(facts) == ((13,), kind, "" if kind == "loading" else name, 100)


def test_more_work_of_the_device_is_told_from_waiting() -> None:
    facts = loop()
    facts.kernel("gemm", 15 * MS + 20_000, 99 * MS, launch=(15 * MS, 10_000))
    assert told(facts) == ((13,), "compute", "", 99)


def test_the_first_step_a_little_more_and_even_steps_are_none() -> None:
    assert findings("HST020", loop(slow=0).trace()) == []
    assert findings("HST020", loop(length=1_400_000).trace()) == []
    assert findings("HST020", loop(slow=-1).trace()) == []


@pytest.mark.parametrize(
    ("more", "title"), [(1_500_000, "longer"), (4_900_000, "longer"), (5_000_000, "several times")]
)
def test_the_wording_says_by_how_much_a_step_is_longer(more: int, title: str) -> None:
    facts = loop(length=more)
    facts.host("gc", "gc", 15 * MS + 1_000, more - 2_000)
    (finding,) = findings("HST020", facts.trace())
    assert title in finding.title
    assert "garbage" in finding.summary
    assert finding.evidence.steps == (13,)


def test_two_steps_are_too_few() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST020", {})
    assert findings("HST020", loop(3, slow=1).trace()) == []


def alone(category: str, name: str, *, slow: int = 3) -> Facts:
    """Steps of 5 ms of a host without a device, of which one has 100 ms more, in such an event."""
    facts, at = Facts(), 0
    for step in range(6):
        start, at = at, at + (100 * MS if step == slow else 0)
        if at > start:
            facts.host(category, name, start + 1_000, 100 * MS - 2_000)
        facts.host("op", "aten::mm", at, 5 * MS)
        facts.step(step + 10, start, (at := at + 5 * MS) - start)
    return facts


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [("python", "train.py(30): flush", "work"), ("python", "x/ckpt.py(1): save_ckpt", "saving"),
     ("python", "x/ckpt.py(9): load_ckpt", "work"), ("op", "aten::sort", "compute")],
)  # fmt: skip
def test_of_a_host_alone_operators_count_for_the_device(category: str, name: str, kind: str) -> None:
    (finding,) = findings("HST020", alone(category, name).trace(reader="kineto"))
    assert {"13", "105 ms", "5.00 ms"} <= set(figures(finding.summary))
    assert "device" not in finding.summary
    assert told(alone(category, name))[1] == kind


def repeated(*, more: int = 0, shapes: tuple[int, ...] = ()) -> str:
    """What is said of a step whose first of a hundred operators takes 100 ms, with as many more of them in it."""
    facts, at = Facts(), 0
    for step in range(6):
        start = at
        for number in range(100 + more * (step == 3)):
            length = 100 * MS if step == 3 and not number else MS // 20
            event = facts.host("op", "aten::mm", at, length)
            if shapes:
                facts.row("op_inputs", event=event, shapes=f"[[{shapes[step == 3]}, 8]]", dtypes=f'["{step}"]')
            at += length
        facts.step(step + 10, start, at - start)
    return told(facts)[1]


def test_the_same_operators_that_take_longer_are_no_evaluation() -> None:
    assert [repeated(more=more) for more in (2, 3)] == ["operators", "compute"]
    assert [repeated(shapes=(8, size)) for size in (8, 9)] == ["shapes", "compute"]


def test_what_may_be_a_wait_for_a_device_that_is_not_recorded_is_left_alone() -> None:
    facts = alone("python", "train.py(30): flush")
    facts.host("op", "aten::cudnn_convolution", 1, 10)
    assert findings("HST020", facts.trace(reader="kineto")) == []


def test_it_stands_by_the_time_it_takes_where_no_device_is_seen() -> None:
    (draft,) = drafts("HST020", given(60))
    found = slow_steps.LongSteps((12,), 70 * MS, 60 * MS, 10 * MS, 8, 1000 * MS, "work", "f", 60 * MS, alone=True)
    (other,) = drafts("HST020", {slow_steps.slow_steps: found})
    assert (draft.taken_ns, other.taken_ns) == (None, 60 * MS // 9)
