"""Ask a machine for all that checks look at."""

from __future__ import annotations

from stepscope.doctor.facts import Facts
from stepscope.doctor.machine import Machine
from stepscope.doctor.probe import amd, cgroup, devices, host, network, npu_smi, packages, places


def gather(machine: Machine) -> Facts:
    """What is known of a machine, an environment and a program."""
    values = {}
    for module in (host, network, cgroup, devices, amd, npu_smi, places, packages):
        values.update(module.facts(machine))
    return Facts(environ=dict(machine.environ), program=machine.program, **values)
