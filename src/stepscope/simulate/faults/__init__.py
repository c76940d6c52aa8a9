"""Faults to inject into a job: each changes what happens, never what is written about it."""

from __future__ import annotations

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.simulate.faults import communication, host, kernels, loader, memory, ranks, waiting
from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob

_MODULES = (communication, host, kernels, loader, memory, ranks, waiting)

FAULTS: dict[str, Fault] = {
    fault.name: fault for fault in sorted((f for module in _MODULES for f in module.FAULTS), key=lambda f: f.name)
}


def inject(job: SimJob, names: tuple[str, ...]) -> SimJob:
    """The job with faults, applied in the given order.

    Raises:
        UserError: there is no fault of that name.
    """
    for name in names:
        if name not in FAULTS:
            raise UserError(said("no fault is called {name!r}", name=name), hint=choose(name, FAULTS))
        job = FAULTS[name].apply(job)
    return job


__all__ = ["FAULTS", "Fault", "inject"]
