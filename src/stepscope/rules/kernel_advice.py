"""What to do about kernels of each class where nothing more specific is known, for a platform."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from stepscope.language import listing, said
from stepscope.model.kernel_names import classify
from stepscope.model.program import Program
from stepscope.rules.finding import Action
from stepscope.rules.native import READ_OFTEN
from stepscope.signals.shared.tensor_shapes import tensors

#: Operands that are told apart.
_OPERANDS: Final = 3

#: How each class of kernels is written.
WORDS: Final = MappingProxyType({
    "gemm": said("matrix multiplications"), "attention": said("attention"), "convolution": said("convolutions"),
    "normalisation": said("normalisation"), "elementwise": said("pointwise operations"),
    "reduction": said("reductions"),
    "embedding": said("lookups"), "optimizer": said("the optimizer"), "collective": said("collectives"),
    "copy": said("concatenation and layout changes"), "other": said("other kernels"),
})  # fmt: skip
#: GEMMs of mixtures of experts: vLLM's and SGLang's Triton kernels, AITER's, CUTLASS's grouped ones.
_EXPERTS: Final = re.compile(r"moe|matmul_ogs|experts?|grouped_?gemm", re.IGNORECASE)

_EXPERTS_ROCM: Final = Action(
    "Take another fused kernel for the experts: AITER's (CK, assembler) or one tuned for the sizes",
    before="vllm serve MODEL",
    after="VLLM_ROCM_USE_AITER=1 VLLM_ROCM_USE_AITER_MOE=1 vllm serve MODEL   # SGLang: SGLANG_USE_AITER=1",
    page="tensor-shapes",
)
_EXPERTS_CUDA: Final = Action(
    "Tune the fused kernel for the experts to the device and the sizes, or take another one (FlashInfer, CUTLASS)",
    before="vllm serve MODEL",
    after="python benchmarks/kernels/benchmark_moe.py --model MODEL --tune   # writes what vLLM loads",
    page="tensor-shapes",
)
_GEMM_ROCM: Final = Action(
    "Let the library tune its GEMMs for the sizes that occur, or use FP8 where the model tolerates it",
    before="python program.py",
    after="PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=1 python program.py   # hipBLASLt and rocBLAS, once",
    page="tensor-shapes",
)
_GEMM_CUDA: Final = Action(
    "Let the compiler try several kernels for each GEMM, or use FP8 where device and model allow it",
    before="model = torch.compile(model)",
    after='model = torch.compile(model, mode="max-autotune-no-cudagraphs")',
    page="tensor-shapes",
)
_DECODING: Final = Action(
    "Each decode step reads all weights for a few tokens: take FP8 or 4-bit weights, or more requests per batch",
    page="batch-size",
)
_VECTORS: Final = re.compile(r"gemv", re.IGNORECASE)
_VECTOR: Final = Action(
    "A GEMM with one vector reads the whole matrix for two operations per element: multiply it by "
    "several vectors at once, or keep it in fewer bits",
    before="for x in vectors:\n    y.append(a @ x)",
    after="y = a @ torch.stack(vectors, 1)",
    page="batch-size",
)
_NARROWER: Final = Action(
    "Use mixed precision: tensor cores compute GEMMs and convolutions in 16 bits several times as fast",
    before="loss = loss_fn(model(x), y)",
    after='with torch.autocast("cuda", dtype=torch.float16):   # bf16 since Ampere; convolutions: channels_last, too\n'
    "    loss = loss_fn(model(x), y)",
    page="amp",
)
_NARROWER_INFERRING: Final = Action(
    "Load the model in 16 bits: tensor cores then compute GEMMs and convolutions several times as fast",
    before="model = Model.from_pretrained(name)",
    after="model = Model.from_pretrained(name).half()   # bf16 since Ampere",
    page="amp",
)
_GEMM: Final = Action("Choose sizes that the library has good kernels for, or narrower types", page="tensor-shapes")
_ATTENTION_ROCM: Final = Action(
    "Try another implementation of attention (CK, AITER)",
    before="attention by Triton",
    after='torch.backends.cuda.preferred_rocm_fa_library("ck")   # AITER in vLLM: VLLM_ROCM_USE_AITER=1',
    page="flash-attention",
)
_ATTENTION_CUDA: Final = Action(
    "Try the other implementations of attention; sizes per head of 64 and 128 have the best kernels",
    before="F.scaled_dot_product_attention(q, k, v)",
    after="with torch.nn.attention.sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]):\n"
    "    F.scaled_dot_product_attention(q, k, v)",
    page="flash-attention",
)
_ATTENTION: Final = Action("Try another implementation of attention", page="flash-attention")
_FUSE: Final = Action(
    "Fuse pointwise operations and normalisation: they read and write whole tensors for little arithmetic",
    before="y = model(x)",
    after="model = torch.compile(model)",
    page="torch-compile",
)
_CONVOLUTION: Final = Action(
    "Let the library try its algorithms once per shape, and keep tensors in its layout",
    before="model = model.to(device)",
    after="torch.backends.cudnn.benchmark = True   # on ROCm it is MIOpen's search\n"
    "model = model.to(device, memory_format=torch.channels_last)",
    page="channels-last",
)
#: Kernels that unpack quantised weights into 16 bits: bitsandbytes, GPTQ, AWQ, HQQ, torchao, ggml.
DEQUANTISING: Final = re.compile(r"dequant", re.IGNORECASE)
DEQUANTISE: Final = Action(
    "Quantised weights are unpacked anew in every pass: take kernels that multiply them as they are (Marlin, FP8), "
    "more tokens per pass, or 16 bits where memory allows it",
    before="AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))",
    after="AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16)   # with adapters as before",
    needs=("python",),
    page="batch-size",
)
_OPTIMIZER: Final = Action("Use a fused optimizer", page="fused-optimizers")
_LARGER: Final = Action(
    "A larger batch per program uses the device better; else only faster kernels or another device help",
    page="batch-size",
)
_ACCESS: Final = Action(
    "See how the kernel reaches memory, and how many of its threads run at a time", page="memory-access"
)


def operands(shapes: str) -> str:
    """` of 8 x 4,096 x 128 (3 times), 16`: the tensors among recorded inputs; empty where none can be read."""
    alike = Counter(" x ".join(f"{dim:,}" for dim in dims) for dims in tensors(shapes))
    first = list(alike.items())[:_OPERANDS]
    words = [said("{text} ({times} times)", text=text, times=times) if times > 1 else text for text, times in first]
    return said(" of {operands}", operands=listing(words)) if words else ""


def advice(role: str, names: Sequence[str], told: Program, decoding: bool = False) -> tuple[Action, ...]:
    """What to do about the foremost kernels.

    Args:
        role: Their class.
        names: Names of kernels, the one with the most time first.
        told: The program.
        decoding: Whether most device time is that of servers' decode steps.
    """
    platform, compiled = told.platform, told.compiled is True
    if role == "gemm" and told.framework == "ggml":
        return (READ_OFTEN,)
    if role == "gemm" and decoding:
        return (_DECODING, *((_GEMM_ROCM,) if platform == "rocm" else (_GEMM,)))
    # The whole matrix is read for one vector: no tuning reads less.
    if role == "gemm" and names and _VECTORS.search(names[0]) and not told.trains:
        return (_DECODING,) if told.infers else (_VECTOR,)
    if role in ("gemm", "convolution") and platform == "cuda" and names and classify(names[0]).dtype == "fp32":
        return (_NARROWER_INFERRING if told.infers else _NARROWER,)
    if role == "gemm" and names and _EXPERTS.search(names[0]):
        return {"rocm": (_EXPERTS_ROCM, _GEMM_ROCM), "cuda": (_EXPERTS_CUDA, _GEMM_CUDA)}.get(platform, (_GEMM,))
    if role == "gemm":
        return {"rocm": (_GEMM_ROCM,), "cuda": (_GEMM if compiled else _GEMM_CUDA,)}.get(platform, (_GEMM,))
    if role == "attention":
        return {"rocm": (_ATTENTION_ROCM,), "cuda": (_ATTENTION_CUDA,)}.get(platform, (_ATTENTION,))
    if role == "convolution" and platform in ("cuda", "rocm"):
        return (_CONVOLUTION,)
    if role in ("elementwise", "normalisation", "reduction", "copy") and not compiled and platform in ("cuda", "rocm"):
        return (_FUSE, _ACCESS)
    if role == "optimizer":
        return (_OPTIMIZER,)
    if told.native:
        return (_ACCESS,)
    return (_ACCESS, _LARGER) if platform in ("cuda", "rocm") else (_LARGER,)
