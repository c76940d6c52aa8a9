"""Names that identify a program's framework, its libraries and its way of running."""

from __future__ import annotations

import re
from typing import Final

#: Values, each with the pattern that a name must match; the first that is found counts.
Marks = tuple[tuple[str, re.Pattern[str]], ...]

#: Frameworks by names of operators, kernels, ranges and annotations. The first whose pattern is found counts.
FRAMEWORK_NAMES: Final[Marks] = (
    ("mindspore", re.compile(r"mindspore|^Kernel::Launch|PynativeFramework", re.ASCII)),
    # Its profiler is that of JAX, too; of both only TensorFlow has this runtime, which may run what XLA compiled.
    ("tensorflow", re.compile(r"^(TFE_Py_|EagerLocalExecute: |ExecutorState::Process$)", re.ASCII)),
    ("jax", re.compile(r"^(Xla(Module|Op|Launch)|TSL:|PjRt|PjitFunction|jit_?\(|jit_\w+\(\d+\)$)|\bjax/|"
                       r"^(input_|loop_|wrapped_)\w*(fusion|reduce)", re.ASCII)),
    ("tensorflow", re.compile(r"\btensorflow::|TensorFlow|tensorflow/|\bEigenMetaKernel", re.ASCII)),
    ("paddle", re.compile(r"\b(phi|paddle)::|paddle/", re.ASCII)),
    ("onnxruntime", re.compile(r"onnxruntime|^SequentialExecutor::Execute", re.ASCII)),
    ("pytorch", re.compile(r"\b(at|c10|torch|c10d|aten|pytorch_flash)::|^nn\.Module: |^ProfilerStep#|torch/|"
                           r"^triton_(poi|red|per|tem|for)_|Optimizer\.step#|^autograd::", re.ASCII)),
    ("tensorrt", re.compile(r"^TensorRT|ExecutionContext::(enqueue|execute)|^trt_|__myl_", re.ASCII)),
    ("cupy", re.compile(r"^cupy_", re.ASCII)),
    ("rapids", re.compile(r"\b(cudf|cuml|cugraph|raft)::|^libcudf", re.ASCII)),
    ("ggml", re.compile(r"\bggml_|^(void )?(mul_mat_(vec_)?q|k_get_rows|quantize_q8_1|dequantize_block)", re.ASCII)),
)  # fmt: skip

#: How native code reaches the device, by names of kernels and tables.
OFFLOAD_NAMES: Final[Marks] = (
    # NVHPC names kernels of OpenMP by function, file and line; those of OpenACC end in `_<line>_gpu`.
    ("openmp", re.compile(r"^(__omp_offloading_|nvkernel_\w+_F\d+L\d+_\d+)", re.ASCII)),
    ("openacc", re.compile(r"_\d+_gpu(__red)?$|^(acc|__pgi)_", re.ASCII)),
    ("kokkos", re.compile(r"\bKokkos::", re.ASCII)),
)

#: Libraries by the folder of their package, and how each is written. Servers first, then what makes images and
#: films, then trainers, then collections of models.
SERVERS: Final = {
    "vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM", "text_generation_server": "TGI",
    "lmdeploy": "LMDeploy", "mindie": "MindIE", "vllm_ascend": "vLLM", "aphrodite": "Aphrodite",
}  # fmt: skip
DIFFUSERS: Final = {
    "xfuser": "xDiT", "diffusers": "Diffusers", "fastvideo": "FastVideo", "comfy": "ComfyUI", "sgm": "Stable Diffusion",
}  # fmt: skip
TRAINERS: Final = {
    "megatron": "Megatron", "deepspeed": "DeepSpeed", "lightning": "Lightning", "pytorch_lightning": "Lightning",
    "accelerate": "Accelerate", "torchrec": "TorchRec", "fairscale": "FairScale", "colossalai": "Colossal-AI",
    "torchtitan": "TorchTitan", "torchtune": "torchtune", "trl": "TRL", "peft": "PEFT", "verl": "verl",
    "unsloth": "Unsloth", "mindspeed": "MindSpeed", "nemo": "NeMo", "composer": "Composer", "axolotl": "Axolotl",
}  # fmt: skip
COLLECTIONS: Final = {
    "transformers": "Transformers", "timm": "timm", "ultralytics": "Ultralytics", "detectron2": "Detectron2",
    "mmengine": "MMEngine", "mmcv": "MMCV", "torch_geometric": "PyG", "monai": "MONAI", "nnunetv2": "nnU-Net",
    "open_clip": "OpenCLIP", "fairseq": "fairseq", "dgl": "DGL", "whisper": "Whisper", "torchaudio": "torchaudio",
}  # fmt: skip
SERVERS_BY_NAME: Final = frozenset(SERVERS.values())
PACKAGES: Final = {**SERVERS, **DIFFUSERS, **TRAINERS, **COLLECTIONS}
#: The same by names of kernels, ranges and annotations, where no Python frames are recorded.
LIBRARY_NAMES: Final[Marks] = (
    ("vLLM", re.compile(r"^execute_(\d+_)?(context|new)_\d+|\bvllm::|^(gpu_model_runner|vllm):", re.ASCII)),
    ("SGLang", re.compile(r"^step\[(DECODE|EXTEND|MIXED|IDLE|TARGET_VERIFY|DRAFT_EXTEND)|\bsgl_(hip|kernel)::|_ZN7sgl_",
                          re.ASCII)),
    ("TensorRT-LLM", re.compile(r"\btensorrt_llm::", re.ASCII)),
    ("TorchRec", re.compile(r"^## (sparse_data_dist|wait_sparse_data_dist|all2all_data:)|^EmbeddingBagCollection|"
                            r"sparse_data_dist", re.ASCII)),
    ("DeepSpeed", re.compile(r"^DeepSpeed(Engine|ZeRO)|deepspeed", re.ASCII)),
    ("Lightning", re.compile(r"^\[(pl|Strategy|LightningModule|Callback)\]", re.ASCII)),
)  # fmt: skip

#: What only training runs: backward passes (`aten::mm_backward`, `wgrad_alg0_engine`, `SoftmaxGrad`).
BACKWARD: Final = re.compile(
    r"[Bb]ackward|[dw]grad|_bwd|bwd_|bprop|Grad\b|GradV\d|_grad_(input|weight|kernel)|Grad(Input|Weight|Gamma)|"
    r"transpose\(jvp|[Bb]ackprop(Filter|Input)?",
    re.ASCII,
)
#: And optimizers. That gradients are set to zero is not enough: benchmarks of the forward pass do it too.
OPTIMIZER: Final = re.compile(
    r"Optimizer\.step|## optimizer ##|ApplyAdam|ApplyMomentum|fused_?(adam|sgd)|FusedAdam|adamw?_?(kernel|functor)",
    re.ASCII | re.IGNORECASE,
)
#: What mostly optimizers run, but others may.
MAYBE_OPTIMIZER: Final = re.compile(
    r"[Oo]ptimizer(?!\.zero_grad)|multi_tensor_apply|\btrain(ing)?_step|_train(ing)?_step", re.ASCII
)
#: What ranges of programs that answer requests are called.
ANSWERING: Final = re.compile(r"deserializeRequest|[Pp]redictor|\b[Ii]nference\b|^generate\b|model\.generate", re.ASCII)
#: Both in files of a stack.
BACKWARD_FILES: Final = re.compile(r"torch/(_tensor|autograd/(__init__|graph))\.py$")
OPTIMIZER_FILES: Final = re.compile(r"torch/optim/(?!lr_scheduler)|apex/optimizers/|bitsandbytes/optim/")

#: A compiled graph around what it runs, on the host.
COMPILED_REGION: Final = re.compile(
    r"CompiledFxGraph|^Torch-Compiled Region|^CompiledFunction|torch_?inductor/.*\.py\(\d+\): call$|"
    r"torch/_inductor/(output_code|compile_fx|codecache|utils)\.py\(\d+\): (__call__|call|run)|"
    r"vllm/compilation/(piecewise_backend|cuda_graph|backends|wrapper)\.py\(\d+\): __call__$",
    re.ASCII,
)
#: Kernels that only a graph compiler writes.
COMPILED_KERNEL: Final = re.compile(r"^triton_(poi|red|per|tem|for|mm|unk)_|^(loop_|input_|wrapped_)\w*fusion|__myl_")

#: Ways to spread a job over ranks, by names of operators, annotations and modules, or by files of a stack.
PARALLEL_NAMES: Final[Marks] = (
    ("ddp", re.compile(r"^(nn\.Module: )?DistributedDataParallel|ddp\.reducer|torch/nn/parallel/distributed\.py")),
    ("fsdp", re.compile(r"^FSDP|FullySharded|fsdp::|torch/distributed/(fsdp|_composable/fsdp)/")),
    ("deepspeed", re.compile(r"^DeepSpeed|deepspeed/runtime/")),
    ("dataparallel", re.compile(r"^(nn\.Module: )?DataParallel[._]|torch/nn/parallel/(data_parallel|replicate)\.py")),
    ("tensor", re.compile(r"(Column|Row)ParallelLinear|megatron/core/tensor_parallel/")),
    ("pipeline", re.compile(r"torch/distributed/pipelining/|megatron/core/pipeline_parallel/")),
    ("embedding", re.compile(r"^## (all2all_data:|sparse_data_dist)|torchrec/distributed/")),
)
#: The same by what the recording says a process group is for.
PARALLEL_GROUPS: Final[Marks] = (
    ("pipeline", re.compile(r"^(pp|pipeline)\b|PIPELINE|^pp_", re.IGNORECASE)),
    ("tensor", re.compile(r"^(tp|tensor)(\b|_)|TENSOR_MODEL", re.IGNORECASE)),
    ("expert", re.compile(r"^(ep|expert)(\b|_)", re.IGNORECASE)),
    ("context", re.compile(r"^(cp|context)(\b|_)|CONTEXT_PARALLEL_GROUP", re.IGNORECASE)),
)
#: Groups of all ranks that share one copy of the model, by whatever way.
MODEL_GROUPS: Final = re.compile(r"^mp(\b|_)", re.IGNORECASE)
#: What the job's own arguments say of it.
PARALLEL_SIZES: Final = {
    "pipeline": "distributed.pipeline_model_parallel_size",
    "tensor": "distributed.tensor_model_parallel_size",
    "expert": "distributed.expert_model_parallel_size",
    "context": "distributed.context_parallel_size",
}

#: Classes that say which model it is, the more telling ones first.
NETWORKS: Final = (
    re.compile(
        r"For(CausalLM|ConditionalGeneration|SequenceClassification|TokenClassification|QuestionAnswering|MaskedLM|"
        r"PreTraining|ImageClassification|VideoClassification|ObjectDetection|SemanticSegmentation|SpeechSeq2Seq|"
        r"CTC)$|LMHeadModel$|Transformer[23]DModel$|^UNet\w*Model$|^AutoencoderKL\w*$"
    ),
    re.compile(r"^[A-Z]\w+(Model|Net(V?\d+)?|Net\dD|former|Transformer|ViT|DiT)$"),
)
