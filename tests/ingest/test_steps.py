"""Where steps come from: the profiler, the user's annotations, repetition, or nowhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from stepscope.analyses.steps.step_budget import step_budget
from stepscope.ingest import Options, open_trace
from stepscope.ingest.derive.steps.finding import SOURCES
from stepscope.ingest.derive.steps.step import called
from support import Facts, recorded_trace, shared


def steps(f: Facts) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = f.trace().sql("SELECT * FROM steps ORDER BY step").to_pylist()
    assert all(before["ts"] + before["dur"] <= after["ts"] for before, after in pairwise(rows))
    return rows


def brief(f: Facts) -> list[tuple[Any, ...]]:
    return [(r["source"], r["number"], r["ts"], r["dur"]) for r in steps(f)]


def loop(f: Facts, times: int, *, period: int = 1000, kernels: int = 8, layers: int = 3) -> None:
    """Steps without marks: an embedding, layers, an optimizer."""
    for i in range(times):
        start = i * period
        f.kernel("embedding", start + 20, 5, launch=(start, 2))
        for k in range(kernels * layers):
            f.kernel(f"layer kernel {k % kernels}", start + 30 + 10 * k, 8, launch=(start + 5 + 10 * k, 2))
        f.kernel("optimizer", start + 900, 5, launch=(start + 800, 2))


def test_steps_of_the_profiler_count_before_anything_else() -> None:
    f = Facts()
    loop(f, 4)
    for i in range(4):
        f.host("annotation", f"train_step {i}", 1000 * i, 990)
    f.step(7, 0, 1500)
    f.step(8, 1500, 1000)
    assert brief(f) == [("profiler", 7, 0, 1500), ("profiler", 8, 1500, 1000)]


def test_overlapping_steps_of_the_profiler_are_cut_and_none_is_lost() -> None:
    f = Facts()
    f.step(7, 0, 1200)
    f.step(8, 1000, 1000)
    f.step(8, 1005, 900, thread="2")  # the same step as another thread saw it
    f.step(8, 5000, 100)  # a second recording of the same number
    assert brief(f) == [("profiler", 7, 0, 1000), ("profiler", 8, 1000, 1000), ("profiler", 8, 5000, 100)]


@pytest.mark.parametrize(
    "names",
    ["step {}", "iteration_{}", "train_batch#{}", "Iter {} of 100", "Training Step: {}", "my thing {}", "epoch {}"],
)
def test_annotations_that_cover_the_launches_are_steps(names: str) -> None:
    f = Facts()
    loop(f, 4)
    for i in range(4):
        f.host("annotation", names.format(i + 40), 1000 * i, 990)
    assert brief(f) == [("annotation", 40 + i, 1000 * i, 990) for i in range(4)]


def test_annotations_that_were_begun_and_never_ended_last_until_the_next_one() -> None:
    f = Facts()
    loop(f, 4)
    for i in range(4):
        f.host("annotation", f"iteration {i}", 1000 * i, 1000 * (4 - i))
    assert brief(f) == [("annotation", i, 1000 * i, 1000) for i in range(4)]


def test_two_annotations_of_one_end_are_one_in_another() -> None:
    f = Facts()
    loop(f, 2)
    for i in range(2):
        f.host("annotation", f"iteration {i}", 1000 * i, 1000 * (2 - i))
    assert brief(f) == [("annotation", 0, 0, 2000)]


def test_annotations_of_one_name_are_steps_without_a_number() -> None:
    f = Facts()
    loop(f, 3)
    for i in range(3):
        f.host("annotation", "step", 1000 * i, 990)
    assert brief(f) == [("annotation", None, 1000 * i, 990) for i in range(3)]


def test_one_annotation_is_a_step_if_its_name_says_so_and_nearly_all_lies_in_it() -> None:
    f = Facts()
    f.host("annotation", "step[EXTEND bs=15]", 10, 500)
    f.kernel("k", 100, 500, launch=(20, 5))
    assert brief(f) == [("annotation", None, 0, 500)]
    f = Facts()
    f.host("annotation", "something", 10, 500)
    f.kernel("k", 100, 500, launch=(20, 5))
    assert [r["source"] for r in steps(f)] == ["whole"]


@pytest.mark.parametrize("name", ["micro_batch {}", "layer {}", "batch_norm", "DataLoader next batch"])
def test_parts_of_a_step_are_no_steps(name: str) -> None:
    f = Facts()
    for i in range(4):
        f.host("annotation", name.format(i), 1000 * i, 990)
        f.kernel(f"k{i}", 1000 * i + 200, 5, launch=(1000 * i + 100, 2))
    assert [r["source"] for r in steps(f)] == ["whole"]


def test_annotations_of_a_small_part_of_the_work_are_no_steps() -> None:
    f = Facts()
    for i in range(4):
        f.host("annotation", f"step {i}", 1000 * i, 100)
        for k in range(3):
            f.kernel(f"k{i}{k}", 1000 * i + 200 * k + 70, 5, launch=(1000 * i + 200 * k + 50, 2))
    assert [r["source"] for r in steps(f)] == ["whole"]


def test_iterations_count_before_epochs_and_outer_annotations_before_inner_ones() -> None:
    f = Facts()
    loop(f, 4)
    for i in range(2):
        f.host("annotation", f"epoch {i}", 2000 * i, 2000)
    for i in range(4):
        f.host("annotation", f"iteration {i}", 1000 * i, 995)
        f.host("annotation", f"substep {2 * i}", 1000 * i + 1, 400)
        f.host("annotation", f"substep {2 * i + 1}", 1000 * i + 402, 500)
    assert [r["name"] for r in steps(f)] == [f"iteration {i}" for i in range(4)]


def test_a_loop_without_marks_is_cut_at_the_launch_of_each_first_kernel() -> None:
    f = Facts()
    loop(f, 4)
    rows = steps(f)
    assert [(r["source"], r["ts"], r["partial"]) for r in rows] == [("inferred", 1000 * i, False) for i in range(4)]
    assert [r["dur"] for r in rows] == [1000, 1000, 1000, 802]
    assert [r["end"] for r in rows] == [1000, 2000, 3000, 3905]


def test_without_steps_work_that_was_queued_before_the_recording_is_use_of_the_device() -> None:
    f = Facts()
    f.kernel("Memcpy HtoD", 0, 5_000_000, kind="copy")  # its launch is older than the recording
    f.kernel("k", 5_000_200, 3_000_000, launch=(50, 5))
    [row] = steps(f)
    assert (row["source"], row["begin"], row["end"]) == ("whole", 0, 8_000_200)


def test_layers_of_one_forward_are_no_steps() -> None:
    f = Facts()
    loop(f, 1, layers=12)
    assert brief(f)[0][0] == "whole"


def passes(f: Facts, once: str = "", pause: int = 0, copy: str | None = None, layers: int = 1) -> None:
    """Ten passes through layers of a network that nobody numbered."""
    at = 0
    first = (once,) if once else ()
    for _ in range(10):
        at += pause
        if copy is not None:
            event = f.kernel("copy", at, 300, launch=(at - 200, 5), kind="copy")
            f.row("copies", event=event, direction=copy, bytes=4)
        for name in (*first, *("sgemm_128x64", "flash_fwd_kernel", "layer_norm", "gelu", "bias", "cast") * layers):
            f.kernel(name, at + 400, 9_900, launch=(at, 200))
            at += 10_000


@pytest.mark.parametrize("what", [{}, {"pause": 200}, {"copy": "HtoD"}, {"copy": "DtoH"}])
def test_periods_of_a_network_that_do_what_any_layer_does_are_no_steps(what: dict[str, Any]) -> None:
    """A block may be given a table of positions or its weights by the host, and read a number."""
    f = Facts()
    passes(f, **what)
    assert [row["source"] for row in steps(f)] == ["whole"]


@pytest.mark.parametrize(
    "what",
    [
        {"once": "embedding_kernel"},
        {"once": "multi_tensor_apply_kernel"},
        {"pause": 5_000},
        {"copy": "HtoD", "once": "head", "layers": 3},
        {"once": "head", "layers": 6},
    ],
)
def test_passes_show_by_what_happens_once_in_them(what: dict[str, Any]) -> None:
    f = Facts()
    passes(f, **what)
    assert [row["source"] for row in steps(f)] == ["inferred"] * 10


@pytest.mark.parametrize(("pause", "source"), [(2_000, "whole"), (2_900, "whole"), (3_100, "inferred")])
def test_a_pause_before_a_pass_is_longer_than_those_between_its_kernels(pause: int, source: str) -> None:
    """Of small kernels the gap between any two is a fiftieth of a layer."""
    f = Facts()
    at = 0
    for _ in range(10):
        at += pause - 1_000
        for name in ("sgemm_128x64", "flash_fwd_kernel", "layer_norm", "gelu", "bias", "cast"):
            f.kernel(name, at + 400, 4_000, launch=(at, 200))
            at += 5_000
    assert {row["source"] for row in steps(f)} == {source}


@pytest.mark.parametrize(
    ("copies", "launched", "length"),
    [(3, True, 801), (1, True, 601), (0, True, 502), (3, False, 798), (1, False, 598), (0, False, 500)],
)
def test_the_last_step_ends_with_what_follows_its_kernels_as_in_the_step_before(
    copies: int, launched: bool, length: int
) -> None:
    """Three copies back on a queue of their own; of the last step's as many as are recorded, and not the end's."""
    f = Facts()
    for i in range(4):
        for k in range(6):
            at = 1000 * i + 100 * k
            f.kernel(f"k{k}", at + 3, 8, launch=(at, 2) if launched else None)
        for k in range(copies if i == 3 else 3):
            at = 1000 * i + 600 + 100 * k
            f.kernel("Memcpy DtoH", at + 1, 8, launch=(at, 1) if launched else None, kind="copy", stream="9")
    f.kernel("last", 4000, 9, launch=(3900, 2) if launched else None, stream="9")
    found = steps(f)
    assert [row["source"] for row in found] == ["inferred"] * 4
    last = found[-1]
    assert not last["partial"]
    assert last["dur"] == length


def test_copies_on_the_device_show_nothing() -> None:
    f = Facts()
    passes(f, copy="DtoD")
    assert [row["source"] for row in steps(f)] == ["whole"]


def test_layers_inside_one_module_are_no_steps() -> None:
    f = Facts()
    f.host("module", "nn.Module: Model_0", 0, 20_000)
    for i in range(12):
        for k in range(8):
            f.kernel(f"k{k}", 1000 * i + 100 * k + 50, 8, launch=(1000 * i + 100 * k, 2))
    assert brief(f)[0][0] == "whole"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("FSDP::pre_forward (blocks.{}._wrapped)", "whole"),
        ("transformer.h.{}.attn", "whole"),
        ("layer {}", "whole"),
        ("request {}", "inferred"),
    ],
)
def test_periods_that_are_in_one_numbered_layer_each_are_no_steps(name: str, source: str) -> None:
    """A part of one pass starts and ends within the layers, so that their sequence is a loop's."""
    f = Facts()
    for i in range(8):
        f.host("op", name.format(12 + i), 1000 * i, 100)
        for k in range(9):
            f.kernel(f"k{k}", 1000 * i + 100 * k + 50, 8, launch=(1000 * i + 100 * k, 2))
    assert {row["source"] for row in steps(f)} == {source}


def test_a_loop_through_all_numbered_layers_has_steps() -> None:
    f = Facts()
    for i in range(5):
        for layer in range(9):
            f.host("op", f"layers.{layer}", 1000 * i + 100 * layer, 90)
            f.kernel(f"k{layer}", 1000 * i + 100 * layer + 50, 8, launch=(1000 * i + 100 * layer, 2))
    assert [row["source"] for row in steps(f)] == ["inferred"] * 5


@pytest.mark.parametrize(("lookups", "source"), [(1, "whole"), (12, "inferred"), (11, "inferred"), (10, "whole")])
def test_layers_that_look_up_positions_are_no_steps_unless_tokens_are_looked_up_in_each(
    lookups: int, source: str
) -> None:
    f = Facts()
    for i in range(12):
        at = 100 + 968 * i  # as close together as the kernels of a layer
        if i < lookups:
            f.host("op", "aten::embedding", at - 20, 10)
        f.host("op", "aten::index", at, 5)
        f.kernel(
            "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<>>(long)",
            at + 3,
            5,
            launch=(at, 2),
        )
        for k in range(24):
            f.kernel(f"gemm kernel {k}", at + 9 + 40 * k, 39, launch=(at + 5 + 40 * k, 2))
    assert brief(f)[0][0] == source


def test_operators_tell_where_there_is_no_device() -> None:
    f = Facts()
    for i in range(5):
        for k in range(6):
            f.host("op", f"aten::op{k}", 1000 * i + 100 * k, 90)
            f.host("op", "aten::inner", 1000 * i + 100 * k + 10, 50)
    assert brief(f) == [("inferred", None, 1000 * i, 590 if i == 4 else 1000) for i in range(5)]


@pytest.mark.parametrize(("passes", "source"), [(1, "whole"), (5, "inferred")])
def test_layers_of_one_backward_pass_on_the_host_are_no_steps(passes: int, source: str) -> None:
    f = Facts()
    names = ("ReluBackward0", "AddmmBackward0", "torch::autograd::AccumulateGrad", "TBackward0")
    at = 0
    for _ in range(passes):
        for name in ("aten::rand", *("aten::linear", "aten::relu") * 2, "aten::sum"):
            f.host("op", name, at, 90)
            at += 100
        for name in names * 6:
            f.host("op", f"autograd::engine::evaluate_function: {name}", at, 90)
            at += 100
    assert brief(f)[0][0] == source


@pytest.mark.parametrize(
    ("names", "source"),
    [
        (("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "addcdiv_"), "whole"),
        (("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "mul"), "inferred"),
        (("linear", "lerp_", "mul_", "addcmul_", "sqrt", "addcdiv_"), "inferred"),
    ],
)
def test_updates_of_one_parameter_after_the_other_are_no_steps(names: tuple[str, ...], source: str) -> None:
    f = Facts()
    for i, name in enumerate(names * 20):
        f.host("op", f"aten::{name}", 100 * i, 90)
    assert brief(f)[0][0] == source


def test_what_was_launched_by_graphs_begins_at_the_graphs_launch() -> None:
    f = Facts()
    for i in range(4):
        correlation = f.correlation()
        f.host("launch", "cudaGraphLaunch", 1000 * i, 10, correlation=correlation)
        for k in range(10):
            f.kernel(f"k{k}", 1000 * i + 20 + 10 * k, 8, launch=correlation)
    assert [(r["source"], r["ts"]) for r in steps(f)] == [("inferred", 1000 * i) for i in range(4)]


def test_a_last_step_with_much_less_work_is_partial() -> None:
    f = Facts()
    for i, kernels in enumerate((10, 10, 7)):
        f.step(i, 1000 * i, 1000)
        for k in range(kernels):
            f.kernel(f"k{k}", 1000 * i + 100 * k + 50, 8, launch=(1000 * i + 100 * k, 2))
    assert [r["partial"] for r in steps(f)] == [False, False, True]


def test_names_with_endless_numbers_break_nothing() -> None:
    f = Facts()
    loop(f, 3)
    for i in range(3):
        f.host("annotation", f"step {i}{'9' * 5000}", 1000 * i, 990)
    assert [r["source"] for r in steps(f)] == ["annotation"] * 3


def test_a_recording_without_events_has_no_steps() -> None:
    assert steps(Facts()) == []


@pytest.mark.parametrize(
    ("recording", "expected", "count"),
    [
        ("v100_resnet50_workers0", "profiler", 6),
        ("mi300_sglang_prefilldecode", "annotation", 1),
        ("mi210_gpu_only", "whole", 1),
        ("b200_ws8_eager", "annotation", 1),
        ("rocm_vllm_piecewise_graphs", "annotation", 1),
        ("mi250_minitoy_train", "profiler", 2),
    ],
)
def test_real_recordings(recording: str, expected: str, count: int) -> None:
    trace = recorded_trace("kineto", recording, "trace.json.gz")
    assert trace.sql("SELECT source, count(*) AS n FROM steps GROUP BY 1").to_pylist() == [
        {"source": expected, "n": count}
    ]


@pytest.mark.parametrize(
    ("recording", "steps_in_it"),
    [
        ("v100_resnet50_workers0", 6),
        ("v100_resnet50_workers4", 6),
        ("a100_diff_control", 6),
        ("a100_nccl_args", 3),
        ("v100_ns_resolution", 5),
        ("h100_qwen05b_infer", 0),
        ("mi300_qwen05b_infer", 0),
        ("h100_bert_small", 0),
    ],
)
def test_inference_finds_what_the_profiler_recorded(
    recording: str, steps_in_it: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shared("kineto", recording, "trace.json.gz")
    recorded = recorded_trace(path).sql("SELECT median(dur) AS dur FROM steps").to_pylist()[0]["dur"]
    monkeypatch.setattr("stepscope.ingest.derive.steps.finding.SOURCES", SOURCES[-1:])
    rows = open_trace(path, Options(cache=False)).sql("SELECT source, dur, partial FROM steps").to_pylist()
    if not steps_in_it:
        assert [row["source"] for row in rows] == ["whole"]
        return
    assert [(row["source"], row["partial"]) for row in rows] == [("inferred", False)] * steps_in_it
    lengths = sorted(row["dur"] for row in rows)
    assert lengths[len(lengths) // 2] == pytest.approx(recorded, rel=0.05)


@pytest.mark.parametrize(
    ("numbers", "want"),
    [
        ([], []),
        ([None, None, None], [0, 1, 2]),
        ([5, 6, 7], [5, 6, 7]),
        # Of two rounds with the same numbers the later one counts on, and so does what has none.
        ([2, 3, 2, 3], [2, 3, 4, 5]),
        ([4, None, 5], [4, 6, 5]),
        # A number counted on is not one that a later step bears.
        ([1, 1, 2], [1, 3, 2]),
        # Too high for the column.
        ([7, 2**31], [7, 8]),
    ],
)
def test_what_steps_are_called(numbers: list[int | None], want: list[int]) -> None:
    assert called(numbers).tolist() == want


def test_every_table_calls_a_step_by_its_recorded_number() -> None:
    f = Facts()
    for position, number in enumerate((40, 41, 40)):
        f.step(number, 1000 * position, 1000)
        f.kernel("a", 1000 * position + 200, 100, launch=(1000 * position + 100, 10))
    f.kernel("launch not recorded", 1500, 100)
    trace = f.trace()
    called_so = trace.rows("SELECT step, number FROM steps ORDER BY ts")
    assert [tuple(row.values()) for row in called_so] == [(40, 40), (41, 41), (42, 40)]
    of_kernels = "SELECT k.step, k.launch_step, e.step AS event, l.step AS launch FROM activities k JOIN events e ON "
    rows = trace.rows(f"{of_kernels} e.id = k.event LEFT JOIN events l ON l.id = k.launch ORDER BY k.ts")
    assert [tuple(row.values()) for row in rows] == [
        (40, 40, 40, 40), (41, 41, 41, 41), (41, None, 41, None), (42, 42, 42, 42),
    ]  # fmt: skip
    assert [row["step"] for row in step_budget(trace).records()] == [40, 41, 42, None]
    [line] = trace.rows("SELECT count, effect FROM health WHERE code = 'steps-renumbered'")
    assert line == {"count": 1, "effect": "column `step` counts on for them, from 42"}


@pytest.mark.parametrize(
    ("recording", "number"),
    [
        ("v100_resnet50_workers4", 6),
        ("a100_diff_control", 6),
        ("mi300_resnet_recompute_ddp8", 3),
        ("h100_bert_small", 1),
    ],
)
def test_without_the_profilers_marks_there_are_as_many(
    recording: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shared("kineto", recording, "trace.json.gz")
    monkeypatch.setattr("stepscope.ingest.derive.steps.finding.SOURCES", SOURCES[1:])
    rows = open_trace(path, Options(cache=False)).sql("SELECT source FROM steps WHERE NOT partial").to_pylist()
    assert len(rows) == number
