"""What ran, decided once per recording, so that advice fits it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from stepscope.language import said, sentences

Kind = Literal["training", "inference", "serving", "diffusion", "unknown"]
Framework = Literal[
    "pytorch", "jax", "tensorflow", "mindspore", "paddle", "onnxruntime", "tensorrt", "cupy", "rapids", "ggml",
    "native", "unknown",
]  # fmt: skip
Platform = Literal["cuda", "rocm", "npu", "xpu", "mtia", "cpu", "other"]


#: How each framework is written; `native` is a program of C, C++ or Fortran without one.
FRAMEWORKS: Final[dict[str, str]] = {
    "pytorch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow", "mindspore": "MindSpore", "paddle": "PaddlePaddle",
    "onnxruntime": "ONNX Runtime", "tensorrt": "TensorRT", "cupy": "CuPy", "rapids": "RAPIDS", "ggml": "llama.cpp",
}  # fmt: skip
_NATIVE: Final = {
    "openacc": said("OpenACC program"), "openmp": said("OpenMP offload program"),
    "kokkos": said("C++ program with Kokkos"),
}  # fmt: skip
#: What a program does, in words.
_KINDS: Final = {
    "unknown": "", "training": said("training"), "inference": said("inference"), "serving": said("serving"),
    "diffusion": said("diffusion"),
}  # fmt: skip
_PLATFORMS: Final = {"cuda": "CUDA", "rocm": "HIP", "npu": "CANN", "xpu": "SYCL"}


@dataclass(frozen=True, slots=True)
class Program:
    """What program was recorded. What the recording does not show is unknown, which is neither yes nor no.

    Attributes:
        kind: What it does.
        framework: What it is written with.
        platform: Whose devices it uses: `cpu` if none, `other` if the recording does not tell.
        language: `python`, `c++`, `native` (compiled, the recording does not tell from what) or `unknown`.
        offload: How native code reaches the device other than by kernels of its own: `openacc`, `openmp`, `kokkos`.
        libraries: Servers, trainers and model libraries above the framework, the most specific first.
        network: Class of the model, for example `Qwen3ForCausalLM`; empty if unknown.
        compiled: Whether most device work comes out of a graph compiler; None if unknown.
        graphs: Whether most device work is replayed from graphs.
        parallel: `ddp`, `fsdp`, `deepspeed`, `dataparallel`, `tensor`, `pipeline`, `context`, `expert`, `embedding`,
            `mpi`.
        host: Whether host operators or calls are recorded, not the device alone.
        operators: Whether operators are recorded, so that those of a backward pass would show.
        loader: Whether a data loader of the framework is seen.
        executable: Base name of the program's file; empty if unknown.
        recorder: What made the recording: `kineto`, `nsight`, `ascend` or `memsnapshot`.
        recorded: Settings of the recording that were on: `record_shapes`, `with_stack`, `profile_memory`, ...
        evidence: What each decision rests on, by attribute.
    """

    kind: Kind = "unknown"
    framework: Framework = "unknown"
    platform: Platform = "other"
    language: Literal["python", "c++", "native", "unknown"] = "unknown"
    offload: str = ""
    libraries: tuple[str, ...] = ()
    network: str = ""
    compiled: bool | None = None
    graphs: bool = False
    parallel: frozenset[str] = frozenset()
    host: bool = True
    operators: bool = False
    loader: bool = False
    executable: str = ""
    recorder: str = ""
    recorded: frozenset[str] = frozenset()
    evidence: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def trains(self) -> bool:
        """Whether it is known to train."""
        return self.kind == "training"

    @property
    def infers(self) -> bool:
        """Whether it is known to run a model without training it."""
        return self.kind in ("inference", "serving", "diffusion")

    @property
    def pytorch(self) -> bool:
        """Whether it is known to be a PyTorch program."""
        return self.framework == "pytorch"

    @property
    def native(self) -> bool:
        """Whether it has no framework, as far as can be seen: advice is then given in the terms of the platform."""
        return self.framework in ("native", "unknown")

    def to_json(self) -> dict[str, Any]:
        """What is known as JSON values."""
        found = asdict(self)
        sets = {name: sorted(value) for name, value in found.items() if isinstance(value, frozenset)}
        return {**found, **sets, "libraries": list(self.libraries), "evidence": dict(self.evidence)}

    def __str__(self) -> str:
        """`vLLM serving, Qwen3ForCausalLM, compiled`; empty if nothing is known."""
        first = self._head()
        rest = [self.network, *self._ways()] if first else []
        return sentences((first, *rest), ", ")

    def _head(self) -> str:
        what = _KINDS.get(self.kind, self.kind)
        if self.framework == "native":
            written = " ".join(
                filter(None, ("C++" if self.language == "c++" else "", _PLATFORMS.get(self.platform, "")))
            )
            name = _NATIVE.get(self.offload) or (said("{by} program", by=written) if written else said("program"))
            return said("{program} {name}", program=name, name=self.executable) if self.executable else name
        framework = FRAMEWORKS.get(self.framework, said("Python program") if self.language == "python" else "")
        if self.kind == "serving" and self.libraries:
            return said("{server} serving", server=self.libraries[0])
        head = said("{framework} {kind}", framework=framework, kind=what) if framework and what else framework or what
        if not self.libraries:
            return head
        libraries = " and ".join(self.libraries[:2])
        return said("{program} with {libraries}", program=head, libraries=libraries) if head else f" with {libraries}"

    def _ways(self) -> list[str]:
        names = {
            "ddp": "DDP", "fsdp": "FSDP", "deepspeed": "DeepSpeed", "dataparallel": "DataParallel",
            "context": said("context parallel"), "tensor": said("tensor parallel"),
            "pipeline": said("pipeline parallel"),
            "expert": said("expert parallel"),
            "embedding": said("sharded embeddings"), "mpi": "MPI",
        }  # fmt: skip
        ways = [names[way] for way in sorted(self.parallel) if way in names]
        return [*ways, *([said("compiled")] if self.compiled else []), *([said("graphs")] if self.graphs else [])]
