from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.shared import ran_on
from support import Facts

MS = 1_000_000


def ran(*operators: tuple[str, int], device: str = "", memory: int | None = None, launch: bool = False) -> ran_on.RanOn:
    """Where operators of these names and lengths in µs ran; `memory` is the device of an allocation."""
    facts, at = Facts(), 0
    for name, length in operators:
        facts.host("op", name, at, length * 1000)
        at += (length + 1) * 1000
    if launch:
        facts.host("launch", "cudaLaunchKernel", at, 1000)
    if device:
        facts.row("devices", device=0, name=device)
    if memory is not None:
        facts.row("raw_memory", ts=0, device=memory if memory >= 0 else None, address=1, bytes=100)
    return Signals.of(facts.trace(reader="kineto"))(ran_on.ran_on)


def test_libraries_of_processors_tell() -> None:
    found = ran(("aten::mkldnn_convolution", 900), ("aten::relu_", 100), device="Tesla T4")
    assert (found.where, found.sure, found.listed) == ("cpu", True, "Tesla T4")
    assert (found.took_ns, found.of_ns) == (900_000, 1_000_000)


@pytest.mark.parametrize(
    "name",
    ["aten::cudnn_convolution", "aten::miopen_batch_norm", "aten::_flash_attention_forward", "aten::record_stream"],
)
def test_libraries_of_devices_tell(name: str) -> None:
    assert ran((name, 900), ("aten::mkldnn_convolution", 5)).where == "device"


@pytest.mark.parametrize(
    "name", ["aten::cudnn_is_acceptable", "aten::pin_memory", "pass.post_grad_passes.move_constructors_to_cuda"]
)
def test_what_asks_for_a_device_or_is_named_after_one_tells_nothing(name: str) -> None:
    assert ran((name, 900)).where == "unknown"


def test_memory_of_a_device_speaks_against_the_processor() -> None:
    assert ran(("aten::addmm", 900), memory=0).where == "device"
    assert ran(("aten::mkldnn_convolution", 900), memory=0).where == "device"


def test_operators_that_exist_for_both_tell_nothing_and_a_library_between_devices_does() -> None:
    assert ran(("fbgemm::permute_2D_sparse_data", 900)).where == "unknown"
    assert ran(("aten::fbgemm_linear_int8_weight", 900)).where == "cpu"
    for backend, where in (("nccl", "device"), ("cpu:gloo,cuda:nccl", "device"), ("gloo", "unknown")):
        facts = Facts()
        facts.host("op", "c10d::allreduce_", 0, 20_000)
        trace = facts.trace(reader="kineto", attributes={"backend": backend})
        assert Signals.of(trace)(ran_on.ran_on).where == where


def test_launches_without_work_are_lost() -> None:
    found = ran(("aten::mkldnn_convolution", 900), launch=True)
    assert (found.where, found.mark) == ("lost", "cudaLaunchKernel")


def test_apples_devices_are_told_by_the_linear_layers_backward() -> None:
    assert ran(("aten::linear_backward", 20), ("aten::mul", 20)).where == "mps"


def test_long_gemms_are_no_launches() -> None:
    gemms = [("aten::addmm", 900)] * 3
    assert ran(*gemms, ("aten::relu", 100)).where == "cpu"
    assert not ran(*gemms, ("aten::relu", 100)).sure
    assert ran(*gemms, ("aten::relu", 100), memory=-1).sure
    assert ran(("aten::addmm", 20), ("aten::relu", 10)).where == "unknown"


def test_a_number_that_is_waited_for_shows_a_device() -> None:
    gemms = [("aten::addmm", 900)] * 3
    assert ran(*gemms, ("aten::_local_scalar_dense", 500)).where == "unknown"


def test_with_device_activity_nothing_is_to_be_told() -> None:
    facts = Facts()
    facts.kernel("gemm", 0, 10, launch=(0, 5))
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(ran_on.ran_on)


def test_reads_that_wait_are_told_from_those_that_do_not() -> None:
    facts = Facts()
    for number, length in enumerate((500, 99_999, 100_000, 5 * MS)):
        facts.host("op", "aten::_local_scalar_dense", number * 10 * MS, length)
    found = Signals.of(facts.trace())(ran_on.slow_reads)
    assert (found.number, found.waited, found.total_ns, found.longest_ns) == (4, 2, 5_100_000, 5 * MS)
    assert found.events.tolist() == [3, 2]


def test_where_calls_are_recorded_these_tell_what_a_read_waits_for() -> None:
    facts = Facts()
    facts.host("op", "aten::_local_scalar_dense", 0, MS)
    facts.host("runtime", "cudaStreamSynchronize", 0, MS)
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(ran_on.slow_reads)
