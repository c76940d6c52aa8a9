from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readers.kineto_text import document, op, opened
from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Draft
from stepscope.signals import Signals
from stepscope.signals.alone import growing as own_growing
from stepscope.signals.alone import whole_tables
from stepscope.signals.host import own_operators
from stepscope.signals.host.own_operators import OwnOperators

MS = 1_000_000


def _found(recorded: int = 100, running: int = 50, *, sure: bool = True, steps: int = 0, **more: int) -> list[Draft]:
    """Drafts for 40 ms of the operators' own time; all times in ms."""
    foremost = (("aten::sort", 30 * MS), ("aten::mm", 10 * MS))
    short, copied, double = (more.get(name, 0) * MS for name in ("short", "copied", "double"))
    told = OwnOperators(
        recorded * MS, steps, running * MS, more.get("own", 40) * MS, foremost, 7, short, np.array([2, 1]), sure,
        copied, double, adding_ns=more.get("adding", 0) * MS, quantized=bool(more.get("quantized")),
        half=bool(more.get("half")), held_ns=more.get("held", 0) * MS, alike=bool(more.get("alike")),
    )  # fmt: skip
    given: dict[Any, Any] = {own_operators.own_operators: told}
    return drafts("HST019", given)


def test_operators_that_take_the_time_are_named() -> None:
    (draft,) = _found()
    assert {"50.0 %", "100 ms", "aten::sort", "75 %", "25 %", "7"} <= set(figures(draft.summary))
    assert draft.taken_ns == 50 * MS


def test_of_what_the_share_is_told() -> None:
    (steps,), (recorded,) = _found(steps=5), _found()
    assert figures(steps.summary) == figures(recorded.summary)
    assert steps.summary != recorded.summary
    assert (steps.taken_ns, recorded.taken_ns) == (10 * MS, 50 * MS)


def test_what_might_be_a_device_is_left_open() -> None:
    (open_,), (sure,) = _found(sure=False), _found()
    assert len(open_.summary) > len(sure.summary)
    assert open_.confidence < sure.confidence


@pytest.mark.parametrize(("recorded", "running"), [(100, 49), (4, 4)])
def test_a_small_part_or_a_brief_recording_is_left_alone(recorded: int, running: int) -> None:
    assert _found(recorded, running) == []


@pytest.mark.parametrize(("short", "larger"), [(19, False), (20, True)])
def test_where_calling_takes_the_time_larger_calls_are_advised(short: int, larger: bool) -> None:
    """Of 40 ms of own time."""
    (draft,), (other,) = _found(short=short), _found()
    assert (draft.actions[0] != other.actions[0]) == larger
    assert ("20.0 µs" in figures(draft.summary)) == larger


@pytest.mark.parametrize("kind", ["copied", "double"])
def test_what_most_time_goes_to_is_advised_on_first(kind: str) -> None:
    (few,), (half,) = _found(**{kind: 19}), _found(**{kind: 20})
    assert half.actions[1:] == few.actions
    assert ("50 %" in figures(half.summary)) == (kind == "double")


@pytest.mark.parametrize(("own", "word"), [(74, "(physical_cores)"), (75, "physical_cores // threads")])
def test_threads_that_compute_side_by_side_share_the_cores(own: int, word: str) -> None:
    (draft,) = _found(own=own)
    assert word in draft.actions[0].after


@pytest.mark.parametrize(("own", "kind", "compiled"), [(40, "", True), (40, "half", True), (40, "quantized", False),
                                                      (80, "half", False), (80, "quantized", False)])  # fmt: skip
def test_narrow_numbers_are_not_advised_where_they_are_used(own: int, kind: str, compiled: bool) -> None:
    (draft,) = _found(own=own, **({kind: 1} if kind else {}))
    assert ("bfloat16" in draft.actions[0].after) == (not kind)
    assert ("torch.compile" in draft.actions[0].after) == compiled
    assert "set_num_threads" in draft.actions[0].after


def test_with_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST019", {})


def _calls(*names: str) -> list[str]:
    """Calls of 2 ms each, one after another, each in an operator that only holds it."""
    return [
        text
        for i, name in enumerate(names)
        for text in (op("aten::outer", 2_000 * i, dur=2_000), op(name, 2_000 * i, dur=1_990))
    ]


def test_what_operators_hold_is_not_theirs(tmp_path: Path) -> None:
    with opened(document(*_calls("aten::sort", "aten::sort", "aten::add")), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"100.0 %", "6.00 ms", "66 %", "33 %"} <= set(figures(finding.summary))


def test_a_recording_that_names_a_device_or_uses_one_is_another_matter(tmp_path: Path) -> None:
    listed = '{"deviceProperties": [{"id": 0, "name": "Tesla T4"}], "traceEvents": [\n'
    launch = json.dumps({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1,
                         "dur": 2})  # fmt: skip
    texts = _calls("aten::sort", "aten::sort", "aten::add")
    for content in (document(*texts, header=listed), document(*texts, launch)):
        with opened(content, tmp_path) as trace:
            assert findings("HST019", trace) == []


def test_operators_are_held_against_the_steps_where_these_are_known(tmp_path: Path) -> None:
    """Two steps of 6 ms with 4 ms of operators each, and a second without a step before them."""
    texts = [op("aten::empty", 0, dur=1)]
    for number, start in enumerate((1_000_000, 1_010_000)):
        texts.append(op(f"ProfilerStep#{number}", start, dur=6_000, cat="user_annotation"))
        texts.append(op("aten::sort", start + 100, dur=4_000))
    with opened(document(*texts), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"66.7 %", "12.0 ms"} <= set(figures(finding.summary))


def test_what_a_compiler_calls_is_no_operator_of_the_model(tmp_path: Path) -> None:
    compiling = [op("compile_fx (dynamo_timed)", 0, dur=9_000), op("aten::sort", 10, dur=8_000)]
    with opened(
        document(*compiling, op("aten::sort", 9_100, dur=100), op("aten::add", 9_900, dur=100)), tmp_path
    ) as trace:
        assert findings("HST019", trace) == []


@pytest.mark.parametrize(
    ("name", "types", "found"),
    [
        ("quantized::linear_dynamic", ["float"], (True, False)),
        ("aten::_weight_int8pack_mm", ["c10::BFloat16"], (True, True)),
        ("aten::mm", ["c10::BFloat16", "c10::BFloat16"], (False, True)),
        ("aten::mm", ["c10::Half"], (False, True)),
        ("aten::mm", ["float"], (False, False)),
        ("quantized::make_quantized_cell_params", ["float"], (False, False)),
    ],
)
def test_quantised_and_half_numbers_are_seen(
    name: str, types: list[str], found: tuple[bool, bool], tmp_path: Path
) -> None:
    """Of 10 ms of operators' own time 5 ms are this one's."""
    texts = [
        op(name, 0, dur=5_000, args={"Input Dims": [[4, 4]] * len(types), "Input type": types}),
        op("aten::sort", 5_000, dur=5_000),
    ]
    with opened(document(*texts), tmp_path) as trace:
        told = Signals.of(trace)(own_operators.own_operators)
    assert (told.quantized, told.half) == found


def test_numbers_of_double_precision_are_tensors_and_what_copies_is_counted(tmp_path: Path) -> None:
    def typed(name: str, at: int, dur: int, types: list[str], shapes: list[list[int]]) -> str:
        return op(name, at, dur=dur, args={"Input Dims": shapes, "Input type": types})

    texts = [
        typed("aten::mm", 0, 5_000, ["double", "double"], [[4, 4], [4, 4]]),
        typed("aten::mul", 6_000, 3_000, ["float", "double"], [[4, 4], []]),
        typed("aten::copy_", 10_000, 2_000, ["float", "double"], [[4, 4], [4, 4]]),
    ]
    with opened(document(*texts), tmp_path) as trace:
        found = Signals.of(trace)(own_operators.own_operators)
    assert (found.double_ns, found.copied_ns, found.own_ns) == (5 * MS, 2 * MS, 10 * MS)


def test_typical_steps_are_what_operators_are_held_against(tmp_path: Path) -> None:
    """The first of five steps waits for 90 ms before its operator."""
    texts, at = [op("aten::empty", 0, dur=1)], 1_000
    for number, wait in enumerate((90_000, 0, 0, 0, 0)):
        texts.append(op(f"ProfilerStep#{number}", at, dur=wait + 3_000, cat="user_annotation"))
        texts.append(op("aten::sort", at + wait + 100, dur=2_700))
        at += wait + 3_000
    with opened(document(*texts), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"90.0 %", "12.0 ms"} <= set(figures(finding.summary))


def test_what_holds_a_wait_for_other_ranks_is_no_operator_of_the_model(tmp_path: Path) -> None:
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    texts = [op("aten::sort", 0, dur=100), op(node, 200, dur=9_000), op("aten::sort", 9_300, dur=100)]
    gloo = op("gloo:all_gather", 300, dur=8_000, cat="user_annotation", tid=7)
    for more, number in (((), 1), ((gloo,), 0)):
        with opened(document(*texts, *more), tmp_path) as trace:
            assert len(findings("HST019", trace)) == number


@pytest.mark.parametrize(
    ("dur", "pause", "told"),
    [(9, 1_600, True), (9, 2_500, False), (10, 1_600, False)],
    ids=["gaps", "pauses", "operators"],
)
def test_short_gaps_between_operators_are_python_that_calls_them(
    tmp_path: Path, dur: int, pause: int, told: bool
) -> None:
    """Operators every 20 µs, and a pause after each 200 of them."""
    texts = [op("aten::add", 20 * i + pause * (i // 200), dur=dur) for i in range(1_000)]
    texts += [op("aten::t", 0, dur=2), op("aten::add", 20_000 + 5 * pause, dur=1)]  # within another, and the end
    with opened(document(*texts), tmp_path) as trace:
        assert bool(findings("HST019", trace)) == told


def test_what_records_python_makes_the_gaps_longer(tmp_path: Path) -> None:
    texts = [op("aten::add", 20 * i, dur=9) for i in range(1_000)]
    summaries = []
    for more in ((), (op("train.py(1): f", 0, dur=20_000, cat="python_function"),)):
        with opened(document(*texts, *more), tmp_path) as trace:
            (finding,) = findings("HST019", trace)
        summaries.append(finding)
    assert len(summaries[1].summary) > len(summaries[0].summary)
    assert summaries[1].confidence < summaries[0].confidence


@pytest.mark.parametrize(("adding", "advised"), [(12, True), (11, False)])
def test_adding_rows_by_index_is_advised_on(adding: int, advised: bool) -> None:
    """Of 40 ms of own time."""
    (draft,), (other,) = _found(adding=adding), _found()
    assert (draft.actions[1:] == other.actions) == advised
    assert ("30 %" in figures(draft.summary)) == advised


def test_what_adds_rows_by_index_is_counted(tmp_path: Path) -> None:
    with opened(document(*_calls("aten::_index_put_impl_", "aten::index", "aten::scatter_add_")), tmp_path) as trace:
        assert Signals.of(trace)(own_operators.own_operators).adding_ns == 2 * 1_990_000


@pytest.mark.parametrize(
    ("name", "counts"), [("SlowBackward", True), ("CompiledFunctionBackward", False), ("MulBackward0", False)]
)
def test_backward_passes_of_the_program_are_python(tmp_path: Path, name: str, counts: bool) -> None:
    texts = [op(name, 0, dur=3_000), op("aten::mul", 3_000, dur=6_900)]
    with opened(document(*texts, op("aten::mul", 9_950, dur=50)), tmp_path) as trace:
        found = Signals.of(trace)(own_operators.own_operators)
        (finding,) = findings("HST019", trace)
    assert found.written_ns == 3 * MS * counts
    assert ("model(row)" in finding.actions[0].before) == counts
    assert figures(finding.summary).count("30 %") == 1 + counts


def _table(rows: int = 1_000, *, dense: str = "aten::embedding_dense_backward", tied: bool = False) -> list[str]:
    """A lookup of 100 rows, its gradient, and an update of the whole table, of 12 ms."""

    def shaped(name: str, at: int, dur: int, *shapes: object) -> str:
        return op(name, at, dur=dur, args={"Input Dims": shapes, "Input type": ["float"] * len(shapes)})

    return [
        shaped("aten::embedding", 0, 1_000, [rows, 64], [10, 10]),
        shaped("aten::addmm" if tied else "aten::relu", 1_000, 3_000, [64], [100, 64], [64, rows]),
        shaped(dense, 4_000, 2_000, [10, 10, 64], [10, 10]),
        shaped("aten::_foreach_add_", 6_000, 6_000, [[64, 8], [rows, 64]], []),
    ]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (_table(), (1_000, 100, 8, 12)),
        (_table(999), (0, 0, 0, 12)),
        (_table(tied=True), (0, 0, 0, 12)),
        (_table(dense="aten::_embedding_bag_sparse_backward"), (0, 0, 0, 12)),
    ],
    ids=["large", "small", "shared with the last layer", "sparse"],
)
def test_a_table_of_which_few_rows_are_looked_up_wants_sparse_gradients(
    tmp_path: Path, texts: list[str], told: tuple[int, ...]
) -> None:
    with opened(document(*texts), tmp_path) as trace:
        found = Signals.of(trace)(whole_tables.whole_table)
        (finding,) = findings("HST019", trace)
    assert (found.rows, found.used, found.own_ns // MS, found.of_ns // MS) == told
    assert any("SparseAdam" in action.after for action in finding.actions) == bool(told[0])
    assert ({"67 %", "1,000", "100"} <= set(figures(finding.summary))) == bool(told[0])


def test_without_shapes_nothing_is_known_of_tables(tmp_path: Path) -> None:
    with opened(document(*_calls("aten::embedding", "aten::mul", "aten::embedding_dense_backward")), tmp_path) as trace:
        assert Signals.of(trace).maybe(whole_tables.whole_table) is None
        assert len(findings("HST019", trace)) == 1


def test_what_is_short_is_told(tmp_path: Path) -> None:
    texts = [op("aten::add", 20 * i, dur=15) for i in range(500)]
    with opened(document(*texts), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"100 %", "20.0 µs"} <= set(figures(finding.summary))


@pytest.mark.parametrize(
    ("held", "alike", "advised"),
    [(14, 1, ["cores"]), (15, 1, ["larger", "processor"]), (15, 0, ["larger", "cores"])],
)
def test_short_calls_that_lost_the_processor_want_larger_ones(held: int, alike: int, advised: list[str]) -> None:
    """Of 40 ms of own time, 5 in short calls; whether they lost it, or compute on more, is told by their inputs."""
    (draft,) = _found(short=5, held=held, alike=alike)
    words = {"larger": "model = torch.compile(model)\ny = model(x)", "cores": "physical_cores", "processor": "pidstat"}
    code = [action.after for action in draft.actions if not action.before.startswith("session")]
    assert [next((w for w in words if words[w] in text and (w != "larger" or "cores" not in text)), "")
            for text in code][: len(advised)] == advised  # fmt: skip
    assert ("20.0 µs" in figures(draft.summary)) == (held == 15)


@pytest.mark.parametrize(
    ("shapes", "calls", "held_ms", "alike"),
    [
        (([[8, 8]], [[8, 8]]), 12, 4, True),
        # On other inputs it is another call, which is as long as it is.
        (([[8, 8]], [[9, 9]]), 12, 0, True),
        ((None, None), 12, 4, False),
        # Of nine others and itself half still show what it takes; of eight none does.
        (([[8, 8]], [[8, 8]]), 9, 4, True),
        (([[8, 8]], [[8, 8]]), 8, 0, True),
    ],
)
def test_calls_that_are_long_where_others_are_short_are_seen(
    tmp_path: Path, shapes: tuple[object, object], calls: int, held_ms: int, alike: bool
) -> None:
    """So many calls of 5 µs and one of 4 ms."""
    texts = []
    for number in range(calls + 1):
        shape = shapes[number == 3]
        args = {} if shape is None else {"args": {"Input Dims": shape, "Input type": ["float"]}}
        texts.append(op("aten::add", 5_000 * number, dur=4_000 if number == 3 else 5, **args))
    with opened(document(*texts), tmp_path) as trace:
        found = Signals.of(trace)(own_operators.own_operators)
    assert found.held_ns == held_ms * MS
    assert found.alike == alike or not held_ms


def _appending(sizes: list[int], other_ms: int = 3) -> list[str]:
    """Steps that append one row to a tensor of each of two layers, in a millisecond each, and compute besides."""
    texts, length = [], 1_000 * (other_ms + 2)
    for step, size in enumerate(sizes):
        start = (length + 200) * step
        texts.append(op(f"ProfilerStep#{step}", start, dur=length + 100, cat="user_annotation"))
        for layer in range(2):
            args = {"Input Dims": [[[2, size, 8], [2, 1, 8]], []], "Input type": ["TensorList", "Scalar"]}
            texts.append(op("aten::cat", start + 1_000 * layer, dur=1_000, args=args))
        args = {"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}
        texts.append(op("aten::mm", start + 2_000, dur=1_000 * other_ms, args=args))
    return texts


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (_appending([5, 6, 7, 8, 9, 10]), (7, 11)),
        # Too few steps follow each other; it starts anew in each; it stands still.
        (_appending([5, 6, 7, 8]), None),
        (_appending([5, 6, 5, 6, 5, 6]), None),
        (_appending([5, 5, 5, 5, 5, 5]), None),
        # It takes less than three tenths of the time.
        (_appending([5, 6, 7, 8, 9, 10], other_ms=4), None),
    ],
    ids=["grows", "few", "anew", "still", "little"],
)
def test_what_every_step_appends_to_is_copied_each_time(
    tmp_path: Path, texts: list[str], told: tuple[int, int] | None
) -> None:
    with opened(document(*texts), tmp_path) as trace:
        found = Signals.of(trace)(own_growing.growing)
        (finding,) = findings("HST019", trace)
    advised = any("kept[n" in action.after for action in finding.actions)
    assert advised == (told is not None)
    if told:
        assert (found.first, found.last, found.own_ns // MS, found.of_ns // MS) == (*told, 10, 30)
        assert {"33 %", "7", "11"} <= set(figures(finding.summary))


def test_without_shapes_nothing_is_known_of_what_grows(tmp_path: Path) -> None:
    with opened(document(*_calls("aten::cat", "aten::cat", "aten::cat")), tmp_path) as trace:
        assert Signals.of(trace).maybe(own_growing.growing) is None


@pytest.mark.parametrize(("sizes", "grows"), [(103, True), (102, False)])
def test_without_steps_it_must_grow_for_long(tmp_path: Path, sizes: int, grows: bool) -> None:
    def joining(at: int, size: int) -> str:
        return op(
            "aten::cat", at, dur=100, args={"Input Dims": [[[size, 8], [1, 8]], []], "Input type": ["TensorList", ""]}
        )

    with opened(document(*(joining(100 * size, size) for size in range(1, sizes))), tmp_path) as trace:
        found = Signals.of(trace)(own_growing.growing)
    assert (found.last == 103) == grows
