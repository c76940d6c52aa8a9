from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import logging_functions
from support import Facts


@pytest.mark.parametrize(
    "name",
    [
        "train.py(3): write_log",
        "train.py(8): log_metrics",
        "utils/misc.py(40): update_metrics",
        "train.py(8): print_progress",
        "/usr/lib/python3.11/logging/__init__.py(1489): info",
        "tqdm/std.py(1325): update",
        "torch/utils/tensorboard/writer.py(329): add_scalar",
        "wandb/sdk/wandb_run.py(1700): log",
        "<built-in function print>",
        "<built-in method write of _io.TextIOWrapper object at 0x7f00>",
        "<built-in function fsync>",
    ],
)
def test_functions_that_log(name: str) -> None:
    assert logging_functions.is_logging(name)


@pytest.mark.parametrize(
    "name",
    [
        "torch/nn/functional.py(1941): log_softmax",
        "torch/distributions/normal.py(80): log_prob",
        "model.py(3): logits",
        "train.py(7): train_step",
        "train.py(7): compute_loss",
        "catalog.py(2): catalog",
        "<built-in method log of type object at 0x1>",
        "<built-in method write of _io.BytesIO object at 0x7f00>",
        "torch/profiler/profiler.py(700): write",
        "torch/utils/data/dataloader.py(5): print",
    ],
)
def test_functions_that_do_not(name: str) -> None:
    assert not logging_functions.is_logging(name)


def stepped() -> Facts:
    facts = Facts()
    for number in range(2):
        facts.step(number, number * 1000, 1000)
        facts.host("op", "aten::add", number * 1000 + 10, 20)
    return facts


def test_outermost_functions_count_with_all_they_call() -> None:
    facts = stepped()
    outer = facts.host("python", "train.py(3): log_metrics", 100, 400)
    facts.host("python", "<built-in function print>", 200, 50)
    alone = facts.host("python", "<built-in function print>", 600, 100)
    s = Signals.of(facts.trace())
    assert s(logging_functions.logging).events.tolist() == [outer, alone]
    assert s(logging_functions.logging_share) == pytest.approx(0.25)
    assert s(logging_functions.logging).names == ("train.py(3): log_metrics", "<built-in function print>")


def test_a_function_around_the_loop_is_not_what_takes_the_time() -> None:
    facts = stepped()
    facts.host("python", "mlflow/autolog.py(1): patched_fit", 50, 900)
    facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", 60, 200)
    inner = facts.host("python", "<built-in function print>", 700, 100)
    assert Signals.of(facts.trace())(logging_functions.logging).events.tolist() == [inner]


def test_calls_of_the_operating_system_tell_where_no_functions_are_recorded() -> None:
    facts = stepped()
    facts.host("other", "read", 100, 50)
    write = facts.host("other", "fsync", 200, 300)
    facts.host("other", "fsync", 300, 100, thread="other")
    facts.host("other", "write", 1_000, 5_000_001)  # a file
    assert Signals.of(facts.trace())(logging_functions.logging).events.tolist() == [write]


def test_without_either_there_is_nothing_to_say() -> None:
    facts = stepped()
    facts.host("other", "Record window", 100, 50)
    with pytest.raises(MissingInputError, match="neither"):
        Signals.of(facts.trace())(logging_functions.logging)


def test_what_is_sent_to_other_processes_is_no_logging() -> None:
    facts = Facts()
    facts.step(0, 0, 1_000)
    facts.host("python", "/usr/lib/python3.12/multiprocessing/connection.py(382): _send", 100, 50)
    facts.host("python", "<built-in function write>", 110, 30)
    alone = facts.host("python", "<built-in function write>", 500, 30)
    # A program that was itself started as a process is inside this one all the time.
    facts.host("python", "multiprocessing/process.py(108): run", 0, 1_000)
    assert Signals.of(facts.trace())(logging_functions.logging).events.tolist() == [alone]


def test_waits_and_copies_in_functions_that_log_are_summed() -> None:
    facts = Facts()
    for number in range(2):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        facts.host("op", "aten::mm", at, 5_000)
        facts.kernel("gemm", at + 10_000, 700_000, launch=(at + 100, 1_000))
        facts.host("python", "train.py(3): log_metrics", at + 100_000, 800_000)
        facts.host("launch", "cudaMemcpyAsync", at + 150_000, 500_000)
        facts.host("sync", "cudaStreamSynchronize", at + 650_000, 50_000)
        facts.host("sync", "cudaStreamSynchronize", at + 950_000, 10_000)
    assert Signals.of(facts.trace())(logging_functions.logging_waits_ns) == 550_000
