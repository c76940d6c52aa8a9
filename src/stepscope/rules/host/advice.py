"""Advice that several rules of the host give."""

from __future__ import annotations

from stepscope.rules.finding import Action


def fewer_launches(platform: str) -> tuple[Action, ...]:
    """How to make the host launch less, for a platform."""
    if platform == "npu":
        return (
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
            ),
            _LARGER,
        )
    return (
        Action(
            "Compile the model, with graphs where shapes stay the same",
            before="y = model(x)",
            after='model = torch.compile(model, mode="reduce-overhead")\ny = model(x)  # fused kernels, in graphs',
            page="torch-compile",
        ),
        Action(
            "Capture the step as a graph by hand where it can't be compiled",
            before="y = model(x)",
            after="graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    y = model(static_x)\n"
            "static_x.copy_(x); graph.replay()",
            page="fewer-launches",
        ),
        _LARGER,
    )


_LARGER = Action(
    "Give the device more to do per launch",
    before="batch_size = 8",
    after="batch_size = 32  # or a longer sequence: the number of launches stays the same",
    page="fewer-launches",
)
