"""Hosts of TensorFlow: its operators, steps and batches, and where the operators ran if the recording tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import check_invariants, check_report, open_fresh
from readers.xplane.xspaces import PlaneWriter, message, of, tensorflow_job, xspace
from stepscope.analyses.registry import analyses
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.host.compiling import compilations
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on


def opened(tmp_path: Path, data: bytes) -> Trace:
    (tmp_path / "a.xplane.pb").write_bytes(data)
    return open_fresh(tmp_path / "a.xplane.pb")


def test_its_runtime_tells_operators_batches_and_steps(tmp_path: Path) -> None:
    trace = opened(tmp_path, tensorflow_job())
    check_invariants(trace)
    check_report(trace)
    rows = trace.rows("SELECT DISTINCT name, category::VARCHAR AS category FROM events WHERE category <> 'step'")
    assert {row["name"]: row["category"] for row in rows} == {
        "BiasAddGrad": "op",
        "EagerLocalExecute: IteratorGetNext": "other",
        "EagerLocalExecute: __inference_step_14": "other",
        "ExecutorState::Process": "other",
        "Iterator::Prefetch": "annotation",
        "IteratorGetNextOp::DoCompute": "dataloader",
        "KernelAndDeviceFunc::Run": "other",
        "MatMul": "op",
        "PyFunc": "annotation",
        "TFE_Py_ExecuteCancelable": "other",
        "_MklMatMul": "op",
        "__inference_f_3": "annotation",
        "step": "annotation",
    }
    assert [row["number"] for row in trace.rows("SELECT number FROM steps ORDER BY ts")] == [0, 1, 2, 3]
    told = Signals.of(trace)(program)
    assert (told.framework, told.loader) == ("tensorflow", True)
    assert Signals.of(trace)(ran_on).where == "cpu"


def test_which_pass_an_operator_belongs_to_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="do not tell which pass"):
        analyses()["phases"].run(opened(tmp_path, tensorflow_job()))


#: The profiler's own messages.
ERRORS = message((2, "no permission"))
GPU = PlaneWriter("/device:GPU:0", {"Stream #20(Compute)": [of("gemm", 2_000_000_000, 5_000)]})


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (tensorflow_job(), {"processor-alone"}),
        (tensorflow_job(4, b"\x10\x02"), {"no-device"}),
        (tensorflow_job(4, b"\x80"), {"no-device"}),
        (tensorflow_job() + ERRORS, {"no-device", "profiler-failed"}),
        (tensorflow_job(4, b"\x18\x01", GPU), set()),
        (tensorflow_job(4, b"\x18\x01", PlaneWriter("/device:GPU:0")), {"no-device"}),
    ],
    ids=["asked", "not asked", "broken", "failed", "device", "idle device"],
)
def test_where_operators_ran_is_told_only_if_a_device_would_have_been_seen(
    data: bytes, codes: set[str], tmp_path: Path
) -> None:
    trace = opened(tmp_path, data)
    lines = "SELECT code FROM health WHERE code IN ('processor-alone', 'no-device', 'not-a-profile', 'profiler-failed')"
    assert {row["code"] for row in trace.rows(lines)} == codes


def test_layers_of_the_runtime_are_no_steps(tmp_path: Path) -> None:
    line = []
    for number in range(30):
        at = 100_000_000 * number
        line += [of("TFE_Py_FastPathExecute_C", at, 90_000_000), of("EagerLocalExecute: Relu", at + 5_000, 80_000_000)]
    trace = opened(tmp_path, xspace(PlaneWriter("/host:CPU", {"python": line})))
    assert trace.scalar("SELECT count(*) FROM events WHERE name = 'Relu' AND category = 'op'") == 30
    assert {row["code"] for row in trace.rows("SELECT code FROM health")} >= {"steps-none"}


def test_a_name_of_the_users_that_looks_like_an_operators_is_none_in_jax(tmp_path: Path) -> None:
    line = [of("PjitFunction(step)", 0, 9_000_000), of("loss:Forward", 1_000, 5_000_000)]
    plane = PlaneWriter("/host:CPU", {"python": line}, short={"loss:Forward": "Forward"})
    trace = opened(tmp_path, xspace(plane))
    assert trace.scalar("SELECT category::VARCHAR FROM events WHERE name = 'Forward'") == "annotation"


def test_a_function_that_is_traced_again_is_compiled(tmp_path: Path) -> None:
    line = []
    for number in range(4):
        at = 1_000_000_000 * number
        line += [
            of("train", at, 900_000_000, step_num=number),
            of("step", at + 1_000, 800_000_000, tf_function_call="traced-nonXla"),
            of("tf.function-graph_building", at + 2_000, 500_000_000),
            of("EagerLocalExecute: Relu", at + 700_000_000, 50_000_000),
        ]
    found = Signals.of(opened(tmp_path, xspace(PlaneWriter("/host:CPU", {"python": line}))))(compilations)
    assert (found.steps, int(found.dur.sum()), found.names) == (4, 2_000_000, ("tf.function-graph_building",))
