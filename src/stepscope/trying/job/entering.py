"""Put everything of a run in place: the guard at once, the rest when the program has imported torch."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from math import ceil
from typing import Any, Final

from stepscope.record.job import hooks
from stepscope.record.job.ending import at_exit
from stepscope.record.job.identity import is_launcher
from stepscope.record.job.imports import wait_for
from stepscope.record.job.unseen import never_compile
from stepscope.record.machine.files import Roots
from stepscope.record.machine.host import Host
from stepscope.trying.job.calls import Calls
from stepscope.trying.job.clock import TrialClock
from stepscope.trying.job.constructors import Constructors, Edits, see_interfaces
from stepscope.trying.job.guard import FileGuard, see_savers
from stepscope.trying.job.numbers import FirstNumbers
from stepscope.trying.job.outer import OuterModels, description, tell_results
from stepscope.trying.job.report import TrialReport
from stepscope.trying.job.samples import SeededSamples
from stepscope.trying.job.settings import TrialSettings
from stepscope.trying.remedy import Edit, OutsideRemedy
from stepscope.trying.seen import Seen

#: Variables that decide whether remedies fit.
_VARIABLES: Final = (
    "PYTORCH_", "NCCL_", "HCCL_", "OMP_", "LD_PRELOAD", "TASK_QUEUE_", "CPU_AFFINITY_", "_LAUNCH_BLOCK",
)  # fmt: skip
#: Steps after which models are known.
_MODELS_KNOWN: Final = 3

_entered: list[TrialInProcess] = []


def enter() -> None:
    """Start, as the first thing that this Python does."""
    settings = TrialSettings.given()
    if settings is None:
        return
    guard = FileGuard(settings.scratch, settings.kept, settings.since_ns) if settings.scratch else None
    if guard is not None:
        guard.install()
    random.seed(settings.seed)

    def imported() -> None:
        try:
            _entered.append(TrialInProcess(settings, guard))
        except Exception as error:
            print(f"stepscope: nothing is tried in this process ({error}).", file=sys.stderr)  # noqa: T201

    wait_for("torch", imported)


class TrialInProcess:
    """A process of a run that has imported torch.

    Args:
        settings: What to do.
        guard: What keeps copies of files.
    """

    def __init__(self, settings: TrialSettings, guard: FileGuard | None) -> None:
        self._settings = settings
        self._before = Seen.from_json(settings.seen) if settings.seen else Seen()
        self._remedies = [remedy for name in settings.remedies if (remedy := _remedy(name)) is not None]
        self._applied: list[str] = []
        self._notes: list[str] = []
        self._models: list[dict[str, Any]] = []
        self._numbers = FirstNumbers(settings.numbered)
        self._samples = SeededSamples(settings.seed)
        _seed(settings.seed)
        if guard is not None:
            see_savers(guard)
        if is_launcher() or not settings.reports:
            return
        self._constructors = Constructors(self._edits(), self._note_applied)
        see_interfaces(self._constructors)
        self._clock = TrialClock(settings, self._complete, self._first_step)
        self._clock.models = OuterModels(self._clock.called, self._model, lambda: self._clock.started < _MODELS_KNOWN)
        self._calls = Calls(lambda: self._clock.started > 1)
        if not self._remedies:
            self._calls.see()
        self._numbers.see()
        self._samples.see()
        hooks.install(self._clock)
        never_compile(TrialClock._step)
        for remedy in self._remedies:
            self._start(remedy)
        at_exit(self._clock.leave)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._clock.begin_anew)

    def _edits(self) -> dict[str, Edits]:
        edits: dict[str, Edits] = {}
        for remedy in self._remedies:
            for kind, edit in remedy.edits.items():
                edits.setdefault(kind, []).append((remedy.name, partial(_edited, edit, self._before)))
        return edits

    def _note_applied(self, name: str) -> None:
        if name not in self._applied:
            self._applied.append(name)

    def _start(self, remedy: OutsideRemedy) -> None:
        if remedy.is_of_environment:
            self._note_applied(remedy.name)
        if remedy.start is not None and remedy.start(self._before):
            self._note_applied(remedy.name)

    def _first_step(self) -> None:
        for remedy in self._remedies:
            if remedy.first_step is not None:
                remedy.first_step()
                self._note_applied(remedy.name)

    def _model(self, model: Any) -> None:
        """A model is about to be called for the first time."""
        import torch

        described = description(model)
        if described is None:
            return
        self._models.append(described)
        if torch.is_autocast_enabled():
            self._calls.add("autocast")
        # Autocast before the compiler, which then compiles it too.
        for remedy in sorted(self._remedies, key=lambda one: one.name.startswith("compile")):
            if remedy.model is not None and remedy.model(model, self._before):
                self._note_applied(remedy.name)
        if not self._clock.loops.expects_updates:
            tell_results(model, self._numbers.output, self._settings.numbered)

    def _complete(self, report: TrialReport) -> None:
        """Say what is known besides the steps."""
        import torch

        self._samples.stop()
        report.losses, report.norms, report.outputs = self._numbers.read()
        report.applied = list(self._applied)
        report.notes += self._notes
        devices = [one["device"] for one in self._models]
        local = os.environ.get("LOCAL_WORLD_SIZE", "")
        report.seen = Seen(
            device=next((one for one in devices if one != "cpu"), "cpu"), hip=bool(torch.version.hip),
            torch=str(torch.__version__), cores=_cores(), machine_cores=os.cpu_count() or 1,
            threads=torch.get_num_threads(), world=report.world,
            local_world=int(local) if local.isdecimal() else report.world, backwards=self._numbers.backwards,
            constructed=self._constructors.made, models=self._models, calls=self._calls.seen,
            running=self._clock.running,
            environment={
                name: value for name, value in os.environ.items() if any(part in name for part in _VARIABLES)
            },
        )  # fmt: skip


def _edited(edit: Edit, seen: Seen, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return edit(given, seen)


def _remedy(name: str) -> OutsideRemedy | None:
    remedy: OutsideRemedy | None = getattr(import_module(name), "REMEDY", None)
    return remedy


def _cores(roots: Roots | None = None) -> int:
    """Processors that this process may use, no more than the quota of its container gives it the time of."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = Host(roots or Roots()).quota()
    return bound if quota is None else max(1, min(bound, ceil(quota)))


def _seed(seed: int) -> None:
    """Have random numbers start from a seed, unless the program sets its own."""
    import torch

    torch.manual_seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
