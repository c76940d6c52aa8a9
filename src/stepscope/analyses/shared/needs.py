"""Checks for the inputs that analyses need; without one they abstain and say what to record next time."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.inputs import Input
from stepscope.model.trace import Trace


def has_device(trace: Trace) -> bool:
    """Whether the recording has device activity; ask for it with `Trace.once`."""
    return bool((~DeviceWork.of(trace).are("sync")).any())


def need_device(trace: Trace) -> None:
    """Abstain unless the recording has device activity.

    Raises:
        MissingInputError: It has none.
    """
    if not trace.once(has_device):
        raise MissingInputError.of("device")


def need_host(trace: Trace, categories: Sequence[str], needs: Input) -> None:
    """Abstain unless a host thread has an event of one of the categories, which are the input `needs`.

    Raises:
        MissingInputError: There is none.
    """
    if not trace.once(recorded_events).on_host(categories):
        raise MissingInputError.of(needs)


def need_calls(trace: Trace) -> None:
    """Abstain unless the recording has calls of a device runtime.

    Raises:
        MissingInputError: It has none.
    """
    need_host(trace, ("runtime", "launch", "sync"), "calls")


def no_costs(trace: Trace) -> MissingInputError:
    """The error for a recording in which no operator has a known cost, with its reason."""
    if not trace.once(has_device):
        return MissingInputError.of("device")
    if not trace.scalar("SELECT count(*) FROM op_inputs"):
        return MissingInputError.of("shapes")
    return MissingInputError(
        "of no operator of the recording is it known how many operations and bytes it takes",
        hint="its kernels are of operators without a formula, or did not run on a device",
    )


def need_operators(trace: Trace) -> None:
    """Abstain unless the recording has operators.

    Raises:
        MissingInputError: It has none.
    """
    need_host(trace, ("op",), "operators")
