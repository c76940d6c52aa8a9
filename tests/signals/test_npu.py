from __future__ import annotations

from typing import Any

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.ascend import ascend, npu_dispatch, npu_kernels
from support import Facts

ASCEND: dict[str, Any] = {"env.HCCL_ALGO": "", "env.ACLNN_CACHE_LIMIT": "10000", "profiler_level": "Level1"}


def npu(facts: Facts, **attributes: Any) -> Signals:
    return Signals.of(facts.trace(reader="ascend", attributes={**ASCEND, **attributes}))


def step() -> Facts:
    facts = Facts()
    facts.step(1, 0, 1_000)
    return facts


def kernel(facts: Facts, ts: int, dur: int = 50, *, args: dict[str, Any] | None = None, **columns: Any) -> int:
    return facts.kernel("aclnnMatmul_MatMulV2", ts, dur, stream="2", kind="compute", args=args, **columns)


class TestEnvironment:
    def test_recorded_variables_without_their_prefix(self) -> None:
        s = npu(step())
        assert s(ascend.recorded)
        assert s(ascend.environment) == {"HCCL_ALGO": "", "ACLNN_CACHE_LIMIT": "10000"}

    def test_other_recordings_have_none(self) -> None:
        s = Signals.of(step().trace())
        for one in (ascend.environment, npu_kernels.kernels, npu_dispatch.compiles):
            with pytest.raises(MissingInputError, match="Ascend"):
                s(one)


class TestKernels:
    def test_what_the_profiler_notes_of_each(self) -> None:
        facts = step()
        kernel(facts, 100, core="AI_CORE", op_type="MatMulV2", args={"Block Dim": 24.0, "Input Data Types": "FLOAT16"})
        kernel(facts, 200, core="AI_CPU", op_type="Cast", args={"Block Num": 2})
        kernel(facts, 300, core="AI_VECTOR_CORE", op_type="TransData", args={"Block Dim": 8})
        s = npu(facts)
        found = s(npu_kernels.kernels)
        assert found.blocks.tolist() == [24, 2, 8]
        assert found.dtypes.tolist() == ["FLOAT16", "", ""]
        assert s(npu_kernels.on_ai_cpu).op_type.tolist() == ["Cast"]
        assert s(npu_kernels.conversions).ts.tolist() == [300]
        assert s(npu_kernels.cores).event.size == 3
        assert found.types(2) == "Cast, MatMulV2, ..."

    def test_names_tell_the_ai_cpu_where_cores_are_not_recorded(self) -> None:
        facts = step()
        facts.kernel("aclnnCast_CastAiCpu_Cast", 100, 50, kind="compute", args={"Task Id": 1})
        facts.kernel("aclnnAdd_AddAiCore_Add", 200, 50, kind="compute", args={"Task Id": 2})
        s = npu(facts)
        assert s(npu_kernels.on_ai_cpu).ts.tolist() == [100]
        with pytest.raises(MissingInputError):
            s(npu_kernels.cores)

    def test_the_device_or_the_kernels_tell_the_number_of_cores(self) -> None:
        facts = step()
        for ts in (100, 200, 300):
            kernel(facts, ts, core="AI_CORE", args={"Block Dim": 20})
        kernel(facts, 400, core="AI_CORE", args={"Block Dim": 64})
        assert npu(facts)(npu_kernels.units) == {"AI_CORE": 20, "MIX_AIC": 20}
        facts = step()
        kernel(facts, 100, core="AI_CORE", args={"Block Dim": 20})
        facts.row("devices", device=0, name="Ascend910B2", used=True)
        assert npu(facts)(npu_kernels.units)["AI_VECTOR_CORE"] == 48

    def test_pipes_are_ratios_by_metric(self) -> None:
        facts = step()
        first = kernel(facts, 100, core="AI_CORE", args={"Block Dim": 20})
        kernel(facts, 200, core="AI_CORE", args={"Block Dim": 20})
        facts.row("kernel_metrics", event=first, metric="aic_mac_ratio", value=0.7)
        facts.row("kernel_metrics", event=first, metric="aic_mac_time", value=700.0)
        facts.row("kernel_metrics", event=first, metric="vec_ratio", value=0.2)
        pipes = npu(facts)(npu_kernels.pipes)
        found = {name: values.tolist() for name, values in pipes.items()}
        assert found == {"aic_mac_ratio": [0.7, 0.0], "vec_ratio": [0.2, 0.0]}

    def test_cores_that_ran_briefly_say_nothing_of_a_kernel(self) -> None:
        facts = step()
        for ts, us in ((100, 9_000.0), (200, 11_000.0)):
            one = kernel(facts, ts, core="MIX_AIC", args={"Block Dim": 20})
            facts.row("kernel_metrics", event=one, metric="aic_mac_ratio", value=0.7)
            facts.row("kernel_metrics", event=one, metric="aic_total_time", value=1_000.0)
            facts.row("kernel_metrics", event=one, metric="aiv_total_time", value=us)
        assert npu(facts)(npu_kernels.pipes)["aic_mac_ratio"].tolist() == [0.7, 0.0]

    def test_without_counters_there_are_no_pipes_and_no_clock(self) -> None:
        facts = step()
        kernel(facts, 100, core="AI_CORE", args={"Block Dim": 20})
        s = npu(facts)
        for one in (npu_kernels.pipes, npu_kernels.clock):
            with pytest.raises(MissingInputError):
                s(one)

    def test_the_clock_is_that_of_the_last_sample(self) -> None:
        facts = step()
        for ts in (100, 500):
            kernel(facts, ts, args={"Task Id": 1})
        for ts, value in ((0, 1_800.0), (300, 900.0)):
            facts.row("counters", ts=ts, track=0, name="AI Core Freq MHz", value=value)
        assert npu(facts)(npu_kernels.clock).tolist() == [1_800.0, 900.0]


class TestDispatch:
    def test_calls_are_told_apart_by_their_names(self) -> None:
        facts = step()
        facts.host("runtime", "aclopCompileAndExecute", 100, 60)
        facts.host("runtime", "aclnnMatmulGetWorkspaceSize", 200, 10)
        facts.host("runtime", "aclnnMatmul", 220, 4)
        facts.host("sync", "aclrtSynchronizeStreamWithTimeout", 300, 20)
        facts.host("annotation", "SyncBatchNormFunction", 400, 20)
        s = npu(facts)
        assert (s(npu_dispatch.compiles).per_step, s(npu_dispatch.compiles).ns_per_step) == (1.0, 60)
        assert s(npu_dispatch.library_call_ns) == 4
        assert s(npu_dispatch.workspace_share) == 0.01
        assert s(npu_dispatch.waits).event.size == 1
        assert s(npu_dispatch.synced_norms).event.size == 1
        assert not s(npu_dispatch.queued)

    def test_the_queue_leaves_marks(self) -> None:
        facts = step()
        facts.host("runtime", "aclnnMatmul", 220, 4)
        facts.host("queue", "Enqueue", 210, 4)
        assert npu(facts)(npu_dispatch.queued)

    def test_the_optimizer_with_its_kernels(self) -> None:
        facts = step()
        facts.host("runtime", "aclnnMul", 50, 4)
        facts.host("annotation", "Optimizer.step#SGD.step", 100, 400)
        facts.host("op", "aten::_foreach_mul_", 150, 50)
        facts.kernel("ForeachMulScalar", 600, 70, launch=(160, 5))
        facts.kernel("Other", 700, 70, launch=(550, 5))
        found = npu(facts)(npu_dispatch.optimizer)
        assert found is not None
        assert (found.name, found.host_ns, found.device_ns) == ("SGD", 400, 70)

    def test_no_optimizer_is_none(self) -> None:
        facts = step()
        facts.host("runtime", "aclnnMul", 50, 4)
        assert npu(facts)(npu_dispatch.optimizer) is None


def norms(*between: str, number: int, nested: bool = False) -> int:
    """How many norms are a loop where each is followed by these operators."""
    facts, at = step(), 0
    for _ in range(number):
        for name in ("aten::linalg_vector_norm", *between):
            facts.host("op", name, at, 4)
            if nested and name != "aten::detach":
                facts.host("op", "aten::norm", at + 1, 2)
            at += 5
    facts.host("runtime", "aclnnNorm", 0, 2)
    return int(npu(facts)(npu_dispatch.clipped_norms).event.size)


def test_norms_of_gradients_are_a_loop_and_those_of_layers_are_not() -> None:
    assert norms(number=8) == 8
    assert norms("aten::detach", number=8, nested=True) == 8
    assert norms(number=7) == 0
    # Each is used at once, as by `F.normalize`, or read to be logged.
    assert norms("aten::clamp_min", "aten::div", number=30) == 0
    assert norms("aten::item", number=30) == 0
