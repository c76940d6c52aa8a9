"""What analyses need of a recording; without it they abstain and say what to record next time."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

_HOST_SQL = """
SELECT count(*) FROM spans JOIN tracks USING (track) WHERE kind = 'host' AND category IN (SELECT unnest($categories))
"""


def need_device(trace: Trace) -> None:
    """Abstain unless the recording has device activity.

    Raises:
        MissingInputError: It has none.
    """
    if not trace.scalar("SELECT count(*) FROM kernels WHERE kind <> 'sync'"):
        raise MissingInputError(
            "the recording has no device activity",
            hint="record the device as well as the host (PyTorch: activities=[CPU, CUDA])",
        )


def need_host(trace: Trace, categories: Sequence[str], what: str, hint: str) -> None:
    """Abstain unless a host thread has an event of one of the categories; `what` names them in the message.

    Raises:
        MissingInputError: There is none.
    """
    if not trace.scalar(_HOST_SQL, {"categories": list(categories)}):
        raise MissingInputError(f"the recording has no {what}", hint=hint)


def need_calls(trace: Trace) -> None:
    """Abstain unless the recording has calls of a device runtime.

    Raises:
        MissingInputError: It has none.
    """
    hint = "record the device runtime on the host (PyTorch: activities=[CPU, CUDA])"
    need_host(trace, ("runtime", "launch", "sync"), "runtime calls", hint)


def need_operators(trace: Trace) -> None:
    """Abstain unless the recording has operators.

    Raises:
        MissingInputError: It has none.
    """
    need_host(trace, ("op",), "operators", "record the host as well (PyTorch: activities=[CPU, CUDA])")
