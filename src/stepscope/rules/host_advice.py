"""Advice that several rules of the host give."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.signals import Signals
from stepscope.signals.shared.job import platform
from stepscope.signals.shared.program import program


def slowed(s: Signals) -> str:
    """A sentence that a host is slower where its call stacks are recorded; empty where they are not."""
    told = s.maybe(program)
    if told is None or "with_stack" not in told.recorded:
        return ""
    return said(
        " Call stacks are recorded, which slows the host: without them the device waits less, and less is saved."
    )


def fewer_launches(on: str) -> tuple[Action, ...]:
    """How to make the host launch less, on a platform; what fits the program is chosen later."""
    return (*(_NPU if on == "npu" else _GPU), *_SERVER, _LARGER)


def launching_less(s: Signals) -> tuple[Action, ...]:
    """The same for the program at hand: of a server its own settings come first, which do most."""
    every, told = fewer_launches(s(platform)), s.maybe(program)
    if told is None or told.kind != "serving":
        return every
    return (*_SERVER, *(action for action in every if action not in _SERVER))


#: What servers do about a host that the device waits for.
SCHEDULE_AHEAD: Final = (
    Action(
        "Schedule the next batch while the device still works on this one",
        before="vllm serve MODEL",
        after="vllm serve MODEL --async-scheduling",
        page="serving",
        needs=("serves",),
    ),
    Action(
        "Leave the server's overlap scheduler on: it schedules the next batch while the device works on this one",
        before="python -m sglang.launch_server --model-path MODEL --disable-overlap-schedule",
        after="python -m sglang.launch_server --model-path MODEL",
        page="serving",
        needs=("sglang",),
    ),
)
_LARGER: Final = Action(
    "Give the device more to do per launch",
    before="batch_size = 8",
    after="batch_size = 32  # or a longer sequence: the number of launches stays the same",
    page="fewer-launches",
    needs=("loop of its own",),
)
_NPU: Final = (
    Action(
        "Let a second thread launch what the first one queues, and compile nothing on the way",
        before="export TASK_QUEUE_ENABLE=1",
        after="export TASK_QUEUE_ENABLE=2\n"
        "torch_npu.npu.set_compile_mode(jit_compile=False)  # at the top of the program",
        page="fewer-launches",
    ),
    Action(
        "Capture the model as a graph",
        before="y = model(x)",
        after="import torchair\nbackend = torchair.get_npu_backend()\n"
        "model = torch.compile(model, backend=backend, dynamic=False)",
        page="fewer-launches",
        needs=("loop of its own",),
    ),
)
_GPU: Final = (
    Action(
        "Compile the model, with graphs where shapes stay the same",
        before="y = model(x)",
        after='model = torch.compile(model, mode="reduce-overhead")\ny = model(x)  # fused kernels, in graphs',
        page="torch-compile",
        needs=("loop of its own",),
    ),
    Action(
        "Let the compiled code run in graphs where shapes stay the same",
        before="model = torch.compile(model)",
        after='model = torch.compile(model, mode="reduce-overhead")',
        page="torch-compile",
        needs=("compiled", "no graphs"),
    ),
    Action(
        "Capture the step as a graph by hand where it can't be compiled",
        before="y = model(x)",
        after="graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    y = model(static_x)\n"
        "static_x.copy_(x); graph.replay()",
        page="fewer-launches",
        needs=("loop of its own", "no graphs"),
    ),
)
#: Servers compile and capture by themselves, unless they are told not to.
_SERVER: Final = (
    Action(
        "Let the server compile the model and capture graphs, for the numbers of tokens that occur",
        before="vllm serve MODEL --enforce-eager",
        after="vllm serve MODEL   # graphs for up to 512 tokens; for more, name them:\n"
        "# vllm serve MODEL --compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16, 32, 64, 1024]}'",
        page="serving",
        needs=("no graphs",),
    ),
    Action(
        "Let the server capture graphs, for the batch sizes that occur",
        before="python -m sglang.launch_server --model-path MODEL --disable-cuda-graph",
        after="python -m sglang.launch_server --model-path MODEL --cuda-graph-max-bs 64",
        page="serving",
        needs=("no graphs",),
    ),
)

#: What servers do about kernels that are launched one by one.
CAPTURE: Final = (
    *_SERVER, Action("Let the engine capture its decode passes as graphs", page="serving", needs=("no graphs",)),
)  # fmt: skip
#: What they do about batches that no captured graph fits.
CAPTURE_SIZES: Final = (
    Action(
        "Capture the batch sizes that occur, up to the largest batch",
        before="vllm serve MODEL",
        after="vllm serve MODEL --compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16, 32, 64, 128]}'",
        page="serving",
        needs=("serves",),
    ),
    Action(
        "Capture the batch sizes that occur, up to the largest batch",
        before="python -m sglang.launch_server --model-path MODEL --cuda-graph-max-bs 32",
        after="python -m sglang.launch_server --model-path MODEL --cuda-graph-bs 1 2 4 8 16 32 64 96 128",
        page="serving",
        needs=("sglang",),
    ),
    Action("Admit no more requests to a batch than the largest captured size has", page="serving"),
)
#: What they do about long prompts.
CHUNKS: Final = (
    Action(
        "Read prompts in chunks beside decode: fewer tokens per pass make passes even",
        before="vllm serve MODEL --max-num-batched-tokens 8192",
        after="vllm serve MODEL --enable-chunked-prefill --max-num-batched-tokens 1024",
        page="serving",
        needs=("serves",),
    ),
    Action(
        "Read prompts in chunks beside decode: fewer tokens per pass make passes even",
        before="python -m sglang.launch_server --model-path MODEL --chunked-prefill-size 8192",
        after="python -m sglang.launch_server --model-path MODEL --chunked-prefill-size 1024 --enable-mixed-chunk",
        page="serving",
        needs=("sglang",),
    ),
    Action("Read prompts on devices of their own, and decode on others", page="serving"),
)
#: What they do about passes with few tokens.
LARGER_BATCHES: Final = (
    Action(
        "Let more requests into a pass, and send them at once",
        before="vllm serve MODEL --max-num-seqs 8",
        after="vllm serve MODEL --max-num-seqs 64",
        page="serving",
        needs=("serves",),
    ),
    Action(
        "Let more requests into a pass, and send them at once",
        before="python -m sglang.launch_server --model-path MODEL --max-running-requests 8",
        after="python -m sglang.launch_server --model-path MODEL --max-running-requests 64",
        page="serving",
        needs=("sglang",),
    ),
    Action("With one user: take weights in FP8 or 4 bits, or speculative decoding", page="serving"),
)
#: What they do about experts with unlike numbers of tokens.
BALANCE_EXPERTS: Final = (
    Action(
        "Place copies of the busiest experts, by the load that is served",
        before="vllm serve MODEL --enable-expert-parallel",
        after="vllm serve MODEL --enable-expert-parallel --enable-eplb",
        page="serving",
        needs=("serves",),
    ),
    Action(
        "Place copies of the busiest experts, by the load that is served",
        before="python -m sglang.launch_server --model-path MODEL --ep-size 8",
        after="python -m sglang.launch_server --model-path MODEL --ep-size 8 --enable-eplb",
        page="serving",
        needs=("sglang",),
    ),
    Action("Train with a loss that balances experts, or route by their load", page="uneven-load", needs=("trains",)),
)
