"""Every remedy against every kind of program: no word of a framework, platform or habit that the program lacks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope import rules
from stepscope.model.program import Program
from stepscope.rules.engine import diagnose
from stepscope.rules.finding import Action
from stepscope.rules.fitting import CONDITIONS, fits, fitting, needs
from stepscope.rules.settings import Settings
from support import Facts

_FOLDER = Path(rules.__file__).parent

TRAINING = Program(kind="training", framework="pytorch", platform="cuda", language="python", loader=True)
PROGRAMS = {
    "training": TRAINING,
    "compiled": Program("training", "pytorch", "cuda", "python", compiled=True, loader=True),
    "cpu": Program("training", "pytorch", "cpu", "python", loader=True),
    "pipeline": Program("training", "pytorch", "npu", "python", parallel=frozenset({"pipeline"})),
    "inference": Program("inference", "pytorch", "cuda", "python"),
    "rocm": Program("inference", "pytorch", "rocm", "python"),
    "vllm": Program("serving", "pytorch", "cuda", "python", libraries=("vLLM",)),
    "sglang": Program("serving", "pytorch", "rocm", "python", libraries=("SGLang",), graphs=True),
    "c++": Program(framework="native", platform="cuda", language="c++", recorder="nsight"),
    "openmp": Program(framework="native", platform="cuda", language="native", offload="openmp", recorder="nsight"),
    "openacc": Program(framework="native", platform="cuda", language="native", offload="openacc", recorder="nsight"),
    "llama.cpp": Program("inference", "ggml", "cuda", "c++", recorder="nsight"),
    "engine": Program("inference", "tensorrt", "cuda", "c++", recorder="nsight"),
    "mindspore": Program("training", "mindspore", "npu", "python", recorder="ascend"),
    "npu": Program(platform="npu", host=False, recorder="ascend"),
    "jax": Program("training", "jax", "cuda", "python", compiled=True, recorder="nsight"),
    "tensorflow": Program("training", "tensorflow", "cpu", "python", loader=True, recorder="xplane"),
    "onnx": Program("inference", "onnxruntime", "cpu", recorder="chrome"),
    "device only": Program("training", "pytorch", "npu", "python", host=False),
    "unknown": Program(platform="cuda", recorder="nsight"),
}
_PYTORCH = r"torch|DataLoader|num_workers|prof\.step|emit_nvtx|model\(|optimizer|\.to\("
#: What must not be said to each.
FORBIDDEN = {
    "compiled": r"[Cc]ompile the model",
    "cpu": r"pin_memory|page-locked",
    "pipeline": r"torch\.cuda|nvidia-smi|NCCL_|cuda[A-Z]|DistributedDataParallel\(model, grad",
    "device only": r"torch\.cuda|nvidia-smi|NCCL_|cuda[A-Z]|for p in model\.parameters\(\):\n +dist",
    "inference": r"backward\(\)|optimizer\.|DataLoader|num_workers|train\(batch\)",
    "rocm": r"nvidia-smi|CUDNN_ATTENTION|nsys |\bnpu|torch_npu",
    "vllm": r"train\(batch\)|DataLoader|backward\(\)|launch_server|y = model\(x\)",
    "sglang": r"train\(batch\)|DataLoader|vllm serve|--disable-cuda-graph",
    "c++": _PYTORCH + r"|pragma|py-spy|train\.py",
    "openmp": _PYTORCH + r"|<<<|py-spy|train\.py|\bacc\b|OpenACC",
    "openacc": _PYTORCH + r"|<<<|py-spy|train\.py|\bomp\b|OpenMP",
    "llama.cpp": _PYTORCH + r"|pragma|<<<|py-spy|train\.py|[Cc]ompile the model",
    "engine": _PYTORCH + r"|pragma|<<<|py-spy|train\.py|llama",
    "mindspore": _PYTORCH + r"|PYTORCH_|TASK_QUEUE|CPU_AFFINITY|cuda|NCCL|nvidia|nsys",
    "npu": _PYTORCH + r"|PYTORCH_|TASK_QUEUE|CPU_AFFINITY|cuda|NCCL|nvidia|nsys",
    "jax": _PYTORCH + r"|InferenceSession|\btf\.",
    "tensorflow": _PYTORCH + r"|InferenceSession|jax|JAX",
    "onnx": _PYTORCH + r"|jax|JAX|pin_memory",
    "unknown": _PYTORCH + r"|pragma",
}


def written(path: Path) -> Iterator[Action]:
    """The actions in a file, with what is only known later left out of their texts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Action":
            texts = dict(zip(("text", "before", "after", "page"), node.args, strict=False))
            named = {str(keyword.arg): keyword.value for keyword in node.keywords}
            needs = ast.literal_eval(named.pop("needs", ast.Constant(())))
            yield Action(**{key: _text(value) for key, value in (texts | named).items()}, needs=needs)


def _text(node: ast.expr) -> str:
    parts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return " ".join(part for part in parts if isinstance(part, str))


@pytest.fixture(scope="module")
def actions() -> list[Action]:
    return [action for path in sorted(_FOLDER.rglob("*.py")) for action in written(path)]


def test_there_are_actions_to_look_at(actions: list[Action]) -> None:
    assert len(actions) > 150


@pytest.mark.parametrize("name", FORBIDDEN)
def test_no_remedy_speaks_of_what_the_program_lacks(actions: list[Action], name: str) -> None:
    pattern, program = re.compile(FORBIDDEN[name], re.MULTILINE), PROGRAMS[name]
    wrong = [
        action.text
        for action in fitting(actions, program)
        for text in (action.text, action.before, action.after)
        if pattern.search(text)
    ]
    assert wrong == []


def is_python(code: str) -> bool:
    """Whether code is Python and nothing else: what ends in a semicolon may be C, and what stands in one line too."""
    if ";" in code:
        return False
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    said = (ast.Call, ast.With, ast.Import, ast.ImportFrom, ast.MatMult, ast.Assert)
    return any(isinstance(one, said) for one in ast.walk(tree))


def test_code_in_python_is_shown_to_programs_in_python_only(actions: list[Action]) -> None:
    python = {"pytorch", "python", "other python", "jax", "tensorflow", "onnxruntime"}
    wrong = [a for a in actions if (is_python(a.before) or is_python(a.after)) and not needs(a) & python]
    assert wrong == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_something_is_left_to_do(actions: list[Action], name: str) -> None:
    assert len(fitting(actions, PROGRAMS[name])) > 10


@pytest.mark.parametrize("need", CONDITIONS)
def test_every_condition_is_needed_and_holds_of_some_program(need: str) -> None:
    programs = [*PROGRAMS.values(), Program("training", "pytorch", "cuda", parallel=frozenset({"ddp", "fsdp"}))]
    held = [CONDITIONS[need](program) for program in programs]  # type: ignore[index]
    assert any(held)
    assert not all(held)


def test_how_a_compiled_program_is_compiled_otherwise_is_said_to_compiled_ones_only() -> None:
    action = Action("", after='model = torch.compile(model, mode="reduce-overhead")', needs=("compiled",))
    assert fits(action, PROGRAMS["compiled"])
    assert not fits(action, TRAINING)


def test_where_the_program_is_not_known_nothing_is_left_out(actions: list[Action]) -> None:
    assert fitting(actions, None) == tuple(actions)


def test_a_finding_in_a_program_without_a_framework_has_what_to_do_elsewhere() -> None:
    facts = Facts()
    for number in range(4):
        at = number * 1_000_000
        facts.host("step", f"iteration {number}", at, 1_000_000)
        event = facts.kernel("Memcpy HtoD", at + 20_000, 400_000, launch=(at + 100, 5_000), kind="copy")
        facts.row("copies", event=event, direction="HtoD", bytes=1 << 20, src_kind="pageable", dst_kind="device")
        facts.kernel("work(double *)", at + 500_000, 300_000, launch=(at + 6_000, 2_000))
    trace = facts.trace(reader="nsight", attributes={"executable": "heat"})
    (finding,) = diagnose(trace, Settings(select=("CPY001",)), strict=True).findings
    assert [action.after.partition("(")[0] for action in finding.actions] == ["cudaMallocHost", "cudaMemcpy"]
