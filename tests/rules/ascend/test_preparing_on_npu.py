from __future__ import annotations

import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.ascend import npu_preparing
from stepscope.signals.ascend.npu_preparing import preparing
from support import Facts

US = 1_000


def given(share: float, core: str = "AI_VECTOR_CORE") -> dict[object, object]:
    found = npu_kernels(4, steps=2, core=core, op_type=["Resize", "Cast", "Resize", "Cast"], dur=30_000)
    return {npu_preparing.preparing: found, npu_preparing.preparing_share: share}


def test_kernels_that_prepare_the_batch_belong_on_the_cpu() -> None:
    (draft,) = drafts("ASC017", given(0.03))
    assert {"2", "60.0 µs", "3.0 %"} <= set(figures(draft.summary))
    assert "AI CPU" not in draft.summary
    assert "num_workers" in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.device[0].events.tolist() == [0, 1, 2, 3]
    assert "100.0 %" in figures(drafts("ASC017", given(0.03, "AI_CPU"))[0].summary)


def test_a_cast_or_two_are_left_alone() -> None:
    assert drafts("ASC017", given(0.0299)) == []


def test_other_devices_have_no_such_kernels() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC017", {})


def test_what_is_launched_before_the_inputs_are_copied_prepares_them() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("annotation", "preprocess", 0, 200 * US)
    resized = f.kernel("Resize", 50 * US, 40 * US, launch=(20 * US, 5 * US))
    f.host("op", "aten::mm", 300 * US, 50 * US)
    f.kernel("MatMul", 400 * US, 90 * US, launch=(310 * US, 5 * US))
    trace = f.trace(reader="ascend")
    assert Signals.of(trace)(preparing).event.tolist() == [resized]


def test_means_of_weights_after_the_update_prepare_nothing() -> None:
    """No loader is marked: they lie between the update and the next step's copy of inputs."""
    f = Facts()
    for step in range(2):
        at = 1000 * US * step
        f.step(step, at, 1000 * US)
        for name, start, op in (
            ("Resize", 10, "aten::upsample"), ("copy", 60, "aten::copy_"), ("MatMul", 100, "aten::mm"),
            ("MatMulGrad", 300, "MmBackward0"), ("ApplyAdamWV2", 500, "Optimizer.step#AdamW.step"),
            ("Lerp", 700, "aten::lerp_"),
        ):  # fmt: skip
            f.host("annotation" if "#" in op else "op", op, at + start * US, 40 * US)
            event = f.kernel(name, at + (start + 20) * US, 15 * US, launch=(at + (start + 5) * US, 5 * US),
                             kind="copy" if name == "copy" else "compute")  # fmt: skip
            if name == "copy":
                f.row("copies", event=event, direction="HtoD", bytes=64)
    trace = f.trace(reader="ascend")
    names = trace.rows("SELECT name, event FROM kernels")
    found = set(Signals.of(trace)(preparing).event.tolist())
    assert {row["name"] for row in names if row["event"] in found} == {"Resize"}
