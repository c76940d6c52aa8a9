"""Keep the actions that fit a program, by what they presuppose: stated by the rule, or implied by their own words.

A rule lists actions for every kind of program. Unknown facts about the program rule nothing out, except frameworks:
code for a framework is shown for its own programs only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.model.program import Program
from stepscope.rules.finding import Action, Need

#: What a remedy may presuppose, and the programs for which it holds.
CONDITIONS: Final[Mapping[Need, Callable[[Program], bool]]] = {
    "pytorch": lambda p: p.pytorch,
    "python": lambda p: p.language == "python",
    "other python": lambda p: p.language == "python" and not p.pytorch,
    "native": lambda p: p.native and p.language != "python",
    "kernels of its own": lambda p: p.native and p.language != "python" and p.offload not in ("openmp", "openacc"),
    "directives": lambda p: p.native and p.offload in ("openmp", "openacc"),
    "openmp": lambda p: p.native and p.offload == "openmp",
    "openacc": lambda p: p.native and p.offload == "openacc",
    "cuda": lambda p: p.platform == "cuda",
    "rocm": lambda p: p.platform == "rocm",
    "cuda or rocm": lambda p: p.platform in ("cuda", "rocm"),
    "npu": lambda p: p.platform == "npu",
    "a device": lambda p: p.platform != "cpu",
    "no device": lambda p: p.platform == "cpu",
    # A backward pass shows by its operators.
    "may train": lambda p: p.kind == "training" or (p.kind == "unknown" and not p.operators),
    "trains": lambda p: p.trains,
    "infers": lambda p: p.infers,
    "serves": lambda p: p.kind == "serving",
    "loop of its own": lambda p: p.kind not in ("serving", "diffusion"),
    "loads": lambda p: p.pytorch and (p.loader or (p.trains and source_of(p.recorder).timed)),
    "not compiled": lambda p: p.compiled is not True,
    "no graphs": lambda p: not p.graphs,
    "compiled": lambda p: p.compiled is True,
    "ddp": lambda p: "ddp" in p.parallel,
    "fsdp": lambda p: "fsdp" in p.parallel,
    "gradients reduced by hand": lambda p: (
        p.host and p.trains and not p.parallel & {"ddp", "fsdp", "deepspeed", "pipeline"}
    ),
    "host not recorded": lambda p: not p.host,
    "vllm": lambda p: p.kind == "serving" and "vLLM" in p.libraries,
    "llama.cpp": lambda p: p.framework == "ggml",
    "mindspore": lambda p: p.framework == "mindspore",
    "jax": lambda p: p.framework == "jax",
    "tensorflow": lambda p: p.framework == "tensorflow",
    "onnxruntime": lambda p: p.framework == "onnxruntime",
    "sglang": lambda p: p.kind == "serving" and "SGLang" in p.libraries,
    "gradients reduced in buckets": lambda p: p.trains and not p.parallel & {"fsdp", "deepspeed", "pipeline"},
    "gradients are reduced": lambda p: p.trains and "pipeline" not in p.parallel,
}

#: What an action presupposes by its words: searched in its text and in its code before and after.
_WORDS: Final[tuple[tuple[Need, re.Pattern[str]], ...]] = (
    (
        "pytorch",
        re.compile(
            r"\btorch(_npu|run|vision|air)?\b|\bTORCH(INDUCTOR)?_|\bPYTORCH_|\bDataLoader|DistributedSampler|\bnn\.|"
            r"\bF\.|\bdist\.|\bmodel\(|\bmodel = |\bprofile\(|ProfilerActivity|prof\.|optimizer|backward\("
            r"|\.to\(|DataParallel|FSDP|fully_shard|_shard\(|pad_sequence|from_pretrained|set_to_none|"
            r"autocast|\.detach\(|\.item\(\)|num_workers|branch_a\(x\)|vmap|self\.qkv|\.contiguous\(|batch_size|"
            r"register_forward_hook|flash_attn|webdataset|ImageFolder|\.synchronize\(\)|\.(mul|add|copy|relu)_\(|"
            # Settings of torch_npu, which its own code reads.
            r"\bTASK_QUEUE_ENABLE|CPU_AFFINITY_CONF|ASCEND_LAUNCH_BLOCKING"
        ),
    ),
    (
        "python",
        re.compile(
            r"\bpy-spy|\bpython |\btrain\.py|\bgc\.|queue\.Queue|\bnp\.|ProcessPoolExecutor|"
            r"with .*:$|for \w+ in \w+:|^ *assert |^(from|import) \w",
            re.MULTILINE,
        ),
    ),
    (
        "npu",
        re.compile(r"torch_npu|torchair|\bnpu|npu\b|HCCL|hccn_tool|hccl|ASCEND_|ACLNN|TASK_QUEUE|CPU_AFFINITY_CONF"),
    ),
    ("cuda or rocm", re.compile(r"torch\.cuda|\bcuda[A-Z]|\bhip[A-Z]|CUDA_(?!VISIBLE)|NCCL_|CTAS|cudnn\.")),
    ("cuda", re.compile(r"nvidia-smi|CUDNN_ATTENTION|CUBLAS_|allow_tf32|nsys ")),
    ("rocm", re.compile(r"rocm-smi|VLLM_ROCM|rocm_fa|RCCL")),
    ("a device", re.compile(r"pin_memory|page-locked")),
    ("loads", re.compile(r"\bDataLoader|num_workers|prefetch_factor|the loader\b|data loader|in loader\b")),
    (
        "may train",
        re.compile(
            r"backward\(|train\(batch\)|optimizer|Optimizer|DistributedSampler|micro-batch|checkpoint\("
            r"|[Gg]radient|loss"
        ),
    ),
    ("not compiled", re.compile(r"torch\.compile\((?!.*mode=\"max-autotune)|[Cc]ompile the (model|module|function)")),
    ("directives", re.compile(r"#pragma|\bOpenMP\b|\bOpenACC\b|!\$(omp|acc)")),
    ("kernels of its own", re.compile(r"<<<|cudaMemcpy|hipMemcpy|aclrtMemcpy|cudaMalloc|cudaStream[BWS]|cudaEvent")),
    # A server's model is not the user's to wrap.
    ("loop of its own", re.compile(r"\bmodel\(|\bmodel = |\btrain\(")),
    ("jax", re.compile(r"\bjax\.|\bJAX_")),
    ("tensorflow", re.compile(r"\btf\.")),
    ("vllm", re.compile(r"\bvllm serve\b|--enforce-eager")),
    ("sglang", re.compile(r"sglang\.launch_server|--disable-cuda-graph")),
)


@lru_cache(maxsize=1024)
def needs(action: Action) -> frozenset[Need]:
    """What an action presupposes."""
    text = "\n".join((action.text, action.before, action.after))
    implied = {need for need, pattern in _WORDS if pattern.search(text)}
    # An action for compiled programs shows how to compile differently, which reads like how to compile.
    return frozenset(implied - {"not compiled"} if "compiled" in action.needs else implied) | frozenset(action.needs)


def fits(action: Action, program: Program) -> bool:
    """Whether an action can be carried out in a program."""
    return all(CONDITIONS[need](program) for need in needs(action))


def fitting(actions: Iterable[Action], program: Program | None) -> tuple[Action, ...]:
    """The actions that fit, in their order; all of them where nothing is known of the program."""
    return tuple(action for action in actions if program is None or fits(action, program))
