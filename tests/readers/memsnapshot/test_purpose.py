"""What call stacks say of the memory."""

from __future__ import annotations

import pytest

from stepscope.readers.memsnapshot.purpose import describe, frame_text, understood

_CALL = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1501): _call_impl"
_ENGINE = "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"


@pytest.mark.parametrize(
    ("frames", "place", "module", "category"),
    [
        (["/home/me/model.py(3): forward", _CALL, "/home/me/train.py(9): main"], "/home/me/model.py(3): forward",
         "model.py", "forward"),
        (["/v/site-packages/torch/nn/functional.py(2): linear", "/opt/v/site-packages/vit/net.py(1): forward", _CALL,
          "/home/me/train.py(9): main"], "/home/me/train.py(9): main", "net.py", "forward"),
        (["/opt/v/site-packages/torch/optim/adam.py(2): _init_group", "/home/me/train.py(9): main"],
         "/home/me/train.py(9): main", None, "optimizer"),
        (["torch::unwind::unwind()", "at::_ops::mm::call(at::Tensor const&)",
          "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", _ENGINE], "MmBackward0", None,
         "backward"),
        (["torch::unwind::unwind()", "at::_ops::empty_strided::call(long)"], "at::_ops::empty_strided", None, "other"),
        (["/opt/v/site-packages/torch/nn/modules/module.py(1159): convert", "/home/me/train.py(9): main"],
         "/home/me/train.py(9): main", None, "parameter"),
        (["at::cuda::getCurrentCUDABlasHandle()", _ENGINE], "at::cuda::getCurrentCUDABlasHandle()", None, "workspace"),
        (["/opt/v/site-packages/torch/_tensor.py(5): backward", "/home/me/train.py(9): main"],
         "/home/me/train.py(9): main", None, "backward"),
        (["/usr/lib/python3.11/copy.py(153): deepcopy", "<string>(5): op"], "generated code", None, "other"),
        (["<eval_with_key>.12(5): forward", "/tmp/torchinductor_me/ab/cab.py(9): call", "/home/me/train.py(9): main"],
         "/home/me/train.py(9): main", None, "forward"),
        (["<ipython-input-3-0a>(2): <module>"], "<ipython-input-3-0a>(2): <module>", None, "other"),
        (["/home/me/layers.py(7): __init__", "/home/me/train.py(9): main"], "/home/me/layers.py(7): __init__", None,
         "parameter"),
        (["/home/me/optimizer.py(7): __init__"], "/home/me/optimizer.py(7): __init__", None, "optimizer"),
        (["/v/site-packages/vllm/worker/cache_engine.py(80): _allocate_kv_cache",
          "/v/site-packages/vllm/worker/worker.py(9): __init__"],
         "/v/site-packages/vllm/worker/cache_engine.py(80): _allocate_kv_cache", None, "kv_cache"),
        (["/v/site-packages/transformers/cache_utils.py(400): update",
          "/v/site-packages/transformers/models/llama/modeling_llama.py(300): forward", "/home/me/run.py(9): main"],
         "/home/me/run.py(9): main", "modeling_llama.py", "kv_cache"),
        ([], None, None, "other"),
    ],
)  # fmt: skip
def test_stacks_tell_place_module_and_category(
    frames: list[str], place: str | None, module: str | None, category: str
) -> None:
    assert describe([understood(frame) for frame in frames]) == (place, module, category)


def test_frames_of_any_shape_have_a_text() -> None:
    assert frame_text({"filename": "C:\\a\\b.py", "line": 3, "name": "f"}) == "C:/a/b.py(3): f"
    assert frame_text({"filename": "??", "line": 0, "name": "c10::f()"}) == "c10::f()"
    assert frame_text({"filename": "a.py", "line": 3, "name": "f", "fx_node_name": "add"}) == "a.py(3): f [add]"
    assert frame_text("nonsense") == "?"
    assert frame_text({}) == "None"
