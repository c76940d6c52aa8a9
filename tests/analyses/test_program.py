from __future__ import annotations

import pytest

from stepscope.analyses.program import program_of
from stepscope.analyses.program.compiled import graph_share
from stepscope.analyses.program.table import program
from stepscope.model.program import Program
from support import Facts


def ran(facts: Facts, *, reader: str = "kineto", **attributes: str) -> Program:
    return program_of(facts.trace(reader=reader, attributes=attributes))


def kernels(facts: Facts, *names: str, at: int = 0) -> Facts:
    for number, name in enumerate(names):
        facts.kernel(name, at + 10_000 * (number + 1), 5_000, launch=(at + 10_000 * number, 1_000))
    return facts


def test_training_with_ddp() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("op", "autograd::engine::evaluate_function: MmBackward0", 0, 20_000)
    facts.host("annotation", "DistributedDataParallel.forward", 30_000, 1_000)
    collective = facts.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 60_000, 1_000, kind="comm")
    facts.row("collectives", event=collective, group="0", collective="all_reduce")
    found = ran(facts)
    assert (found.kind, found.framework, found.platform, found.parallel) == (
        "training", "pytorch", "cuda", frozenset({"ddp"}),
    )  # fmt: skip
    assert str(found) == "PyTorch training, DDP"


@pytest.mark.parametrize(
    ("file", "libraries"),
    [
        ("/env/lib/python3.10/site-packages/transformers/models/qwen2/modeling_qwen2.py", ("Transformers",)),
        ("transformers/models/qwen2/modeling_qwen2.py", ("Transformers",)),
        ("/opt/Megatron-LM/megatron/core/tensor_parallel/layers.py", ("Megatron",)),
        ("/home/u/diffusion/src/nets/transformers/dit.py", ()),
        ("/home/u/lightning/run.py", ()),
    ],
)
def test_a_folder_of_the_users_is_no_package(file: str, libraries: tuple[str, ...]) -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("python", f"{file}(12): forward", 0, 20_000)
    assert ran(facts).libraries == libraries


@pytest.mark.parametrize(
    ("kernel", "framework"),
    [
        ("void tensorflow::functor::BatchNormKernel<float>(float*)", "tensorflow"),
        ("void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<float>>(float)", "tensorflow"),
        ("void cudf::detail::hash_groupby<int>(int*)", "rapids"),
    ],
)
def test_frameworks_of_python_by_their_kernels(kernel: str, framework: str) -> None:
    found = ran(kernels(Facts(), kernel), reader="nsight", executable="python3.10")
    assert (found.framework, found.language) == (framework, "python")


def test_compiled_steps_that_train_are_training() -> None:
    facts = kernels(Facts(), "loop_add_fusion_12", "gemm_fusion_dot_33")
    facts.host("annotation", "TSL:XlaModule:#hlo_module=jit_train_step,program_id=3#", 0, 30_000)
    found = ran(facts, reader="nsight", executable="python3.11")
    assert (found.framework, found.kind) == ("jax", "training")


def test_a_layer_that_could_be_split_is_whole_where_nothing_is_exchanged() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("module", "nn.Module: RowParallelLinear_0", 0, 20_000)
    assert not ran(facts).parallel


def test_weights_may_be_sharded_on_one_rank_too() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("annotation", "FSDP::pre_forward (blocks.3)", 0, 20_000)
    assert ran(facts).parallel == {"fsdp"}


def test_a_server_by_the_files_of_its_frames() -> None:
    facts = kernels(Facts(), "Cijk_Alik_Bljk_BBS", "multi_tensor_apply_kernel")
    facts.host("python", "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(12): run", 0, 20_000)
    facts.host("annotation", "execute_32_context_0(sq0sk0)_generation_32(sq32sk32785)", 30_000, 1_000)
    facts.host("module", "nn.Module: Qwen3ForCausalLM_0", 40_000, 1_000)
    found = ran(facts)
    assert (found.kind, found.libraries, found.network) == ("serving", ("SGLang",), "Qwen3ForCausalLM")
    assert str(found) == "SGLang serving, Qwen3ForCausalLM"


def test_a_server_by_the_names_of_its_ranges_alone() -> None:
    facts = kernels(Facts(), "nvjet_tst_64x64")
    facts.host("annotation", "execute_context_1(888)_generation_0(0)", 0, 1_000)
    found = ran(facts)
    assert (found.kind, found.libraries) == ("serving", ("vLLM",))


def test_a_pipeline_that_makes_images() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("python", "/x/site-packages/diffusers/pipelines/flux/pipeline_flux.py(7): __call__", 0, 20_000)
    assert str(ran(facts)) == "PyTorch diffusion with Diffusers"


def test_a_script_called_like_a_library_is_none() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("python", "/home/me/diffusers.py(7): main", 0, 20_000)
    assert not ran(facts).libraries


def test_compiled_by_regions_and_by_names_of_kernels() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("annotation", "## Call CompiledFxGraph abc ##", 0, 9_000)
    assert ran(facts).compiled
    assert ran(kernels(Facts(), "triton_poi_fused_add_0")).compiled


def test_a_compiled_helper_does_not_make_a_compiled_program() -> None:
    facts = kernels(Facts(), *["ampere_sgemm_128x64_tn"] * 9)
    facts.host("op", "aten::mm", 0, 1_000)
    kernels(facts, "triton_poi_fused_add_0", at=200_000)
    assert ran(facts).compiled is False


def test_without_operators_and_marks_it_is_not_known_whether_it_is_compiled() -> None:
    assert ran(kernels(Facts(), "ampere_sgemm_128x64_tn")).compiled is None


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("vecAdd(double *, double *, double *, int)", "C++ CUDA program prog"),
        ("nvkernel_solve_F1L204_2", "OpenMP offload program prog"),
        ("__omp_offloading_31_18a8104__Z_1", "OpenMP offload program prog"),
        ("advance_216_gpu", "OpenACC program prog"),
        ("void Kokkos::Impl::cuda_parallel_launch_local_memory<F>(F)", "C++ program with Kokkos prog"),
        ("step_kernel", "CUDA program prog"),
    ],
)
def test_programs_without_a_framework(kernel: str, says: str) -> None:
    found = ran(kernels(Facts(), kernel), reader="nsight", executable="prog")
    assert (found.native, str(found), found.platform) == (True, says, "cuda")


def test_python_without_a_known_framework_is_python_and_no_more() -> None:
    found = ran(kernels(Facts(), "my_kernel(float *)"), reader="nsight", executable="python3.10")
    assert (found.framework, found.language, str(found)) == ("unknown", "python", "Python program")


def test_nothing_that_tells_is_unknown() -> None:
    found = ran(kernels(Facts(), "my_kernel(float *)"), reader="nsight")
    assert (found.framework, found.language, found.kind, str(found)) == ("unknown", "unknown", "unknown", "")


def test_pytorch_under_nsight_by_its_kernels() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
    assert ran(kernels(Facts(), name), reader="nsight", executable="python").framework == "pytorch"


def test_gradients_set_to_zero_are_not_training() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("op", "aten::addmm", 0, 1_000)
    facts.host("annotation", "Optimizer.zero_grad#AdamW.zero_grad", 0, 1_000)
    relu = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_relu<float>>(int)"
    facts.kernel(relu, 90_000, 10)
    assert ran(facts).kind == "inference"


def test_gemms_alone_are_a_benchmark_and_a_device_alone_tells_little() -> None:
    facts = kernels(Facts(), "ampere_sgemm_128x64_tn")
    facts.host("op", "aten::mm", 0, 1_000)
    assert ran(facts).kind == "unknown"
    relu = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_relu<float>>(int)"
    assert ran(kernels(Facts(), "ampere_sgemm_128x64_tn", relu)).kind == "unknown"


def test_ascend_is_an_npu_whatever_else_is_recorded() -> None:
    found = ran(kernels(Facts(), "aclnnMatmul_MatMulV3Common_MatMulV3"), reader="ascend")
    assert (found.platform, found.framework) == ("npu", "pytorch")


def test_groups_tell_of_pipelines() -> None:
    facts = kernels(Facts(), "aclnnMatmul_MatMulV3Common_MatMulV3")
    event = facts.kernel("hcom_send__1", 60_000, 1_000, kind="comm")
    facts.row("collectives", event=event, group="7", collective="send")
    facts.row("groups", group="7", description="pp", size=2)
    assert ran(facts, reader="ascend").parallel == {"pipeline"}


def staged(*groups: tuple[str, int]) -> Facts:
    facts = kernels(Facts(), "aclnnMatmul_MatMulV3Common_MatMulV3")
    event = facts.kernel("hcom_send__1", 60_000, 1_000, kind="comm")
    facts.row("collectives", event=event, group="7", collective="send")
    for number, (what, size) in enumerate(groups):
        facts.row("groups", group=str(number), description=what, size=size)
    return facts


def test_a_group_of_one_rank_is_no_parallelism() -> None:
    assert ran(staged(("pp", 2), ("mp", 2), ("tp", 1)), reader="ascend").parallel == {"pipeline"}
    assert ran(staged(("pp", 2), ("mp", 4), ("tp", 2), ("cp", 2)), reader="ascend").parallel == {
        "pipeline", "tensor", "context"
    }  # fmt: skip
    assert ran(staged(("mp", 2)), reader="ascend").parallel == {"tensor"}


def test_sizes_that_the_job_told_count() -> None:
    told = {"distributed.tensor_model_parallel_size": 4, "distributed.context_parallel_size": 1}
    facts = staged(("pp", 2), ("cp", 2))
    assert program_of(facts.trace(reader="ascend", attributes=told)).parallel == {"pipeline", "tensor"}


def test_a_host_that_was_not_recorded_is_known_as_such() -> None:
    facts = Facts()
    facts.kernel("aclnnMatmul_MatMulV3Common_MatMulV3", 0, 1_000)
    assert not ran(facts, reader="ascend").host
    assert ran(kernels(Facts(), "aclnnMatmul_MatMulV3Common_MatMulV3"), reader="ascend").host


def test_the_table_says_what_is_known_and_why() -> None:
    facts = kernels(Facts(), "triton_poi_fused_add_0")
    rows = {row["aspect"]: (row["value"], row["evidence"]) for row in program(facts.trace(reader="kineto")).records()}
    assert rows["compiled"] == ("yes", "100% of the kernels come out of compiled graphs")
    assert rows["framework"] == ("pytorch", "triton_poi_fused_add_0")
    assert not {"network", "kind"} & rows.keys()


def test_no_kernels_are_launched_by_no_graph() -> None:
    facts = Facts()
    facts.kernel("Memcpy HtoD", 0, 1_000, kind="copy")
    assert graph_share(facts.trace()) == 0.0
