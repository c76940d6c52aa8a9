"""Ask running processes for a recording, and wait for it."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.process.system import lives
from stepscope.record.job.report import ProcessReport
from stepscope.record.retold import retold
from stepscope.record.triggers.request import RecordingRequest
from stepscope.record.triggers.trigger import Trigger
from stepscope.record.watching import kineto_daemon, remote
from stepscope.record.watching.jobs import AskableProcess, askable, job_of
from stepscope.record.watching.refusing import refusal, settings_of

_LOOK_S: Final = 0.05


def processes_of(control: Path, pid: int | None, port: int | None, timeout_s: float) -> list[AskableProcess]:
    """The processes of a job that can be asked.

    Args:
        control: The folder of this user.
        pid: One of them, or what started them; None for the only job there is.
        port: Where its ranks meet, instead.
        timeout_s: Seconds for a program to which hooks are added to make a step.

    Raises:
        UserError: There are none; it says why.
    """
    there = askable(control)
    if pid is None and port is not None:
        found = [one for one in there if one.port == str(port)]
        if not found:
            raise UserError(said("no job whose ranks meet at port {port} can be asked", port=port), hint=_known(there))
        return found
    if pid is None:
        if len({one.job for one in there}) != 1:
            what = said("several jobs can be asked") if there else said("no process can be asked")
            raise UserError(what, hint=_known(there))
        return there
    found = job_of(there, pid)
    if not found and settings_of(pid) is None and not kineto_daemon.can_be_asked(pid) and remote.can_put_in(pid):
        remote.put_in(pid, control)
        until = time.monotonic() + timeout_s
        while not found and time.monotonic() < until and lives(pid):
            time.sleep(_LOOK_S)
            found = job_of(askable(control), pid)
        if found:
            remote.remove(pid, control)
        elif not lives(pid):
            message = said("process {pid} ended before it made a step", pid=pid)
            raise UserError(message, hint="attach while its loop runs")
        else:
            message = said("process {pid} has made no step in {timeout_s:.0f} s", pid=pid, timeout_s=timeout_s)
            raise UserError(message, hint="ask again when its loop runs")
    if not found:
        raise refusal(pid)
    if len({one.job for one in found}) > 1:
        # Below a shell or the first process of a machine: ranks of one would count as those of another.
        raise UserError(said("several jobs run below process {pid}", pid=pid), hint=_known(found))
    return found


def _known(there: Sequence[AskableProcess]) -> str:
    if not there:
        return said("start one with stepscope record --wait, or prepare its shell with stepscope attach --prepare")
    # One of each job is enough.
    of_jobs = list({one.job: one for one in reversed(there)}.values())[::-1]
    return said("give a process: {listed}", listed=", ".join(f"{one.pid} ({one.program[:40]})" for one in of_jobs[:4]))


def ask(processes: Sequence[AskableProcess], control: Path, folder: Path, steps: int, options: dict[str, Any]) -> None:
    """Ask processes for a recording of their next steps.

    Args:
        processes: The processes.
        control: The folder in which they look.
        folder: Where to record to, absolute.
        steps: How many steps.
        options: What to record, by names of `RecordSettings`.
    """
    trigger = Trigger("attach", time.time_ns(), world_size=len(processes))
    for one in processes:
        RecordingRequest(str(folder), trigger, steps, options).write(control / f"{one.pid}.ask")


def withdraw(processes: Sequence[AskableProcess], control: Path) -> None:
    """Ask no more: who has not begun would record when nobody waits for it."""
    for one in processes:
        (control / f"{one.pid}.ask").unlink(missing_ok=True)


def wait(processes: Sequence[AskableProcess], folder: Path, timeout_s: float) -> tuple[list[ProcessReport], list[str]]:
    """Wait until processes have recorded.

    Args:
        processes: The processes that were asked.
        folder: Where they record to.
        timeout_s: Seconds without any news after which nothing more is expected.

    Returns:
        What those say that have recorded, and a sentence about each of the others.
    """
    done: dict[int, ProcessReport] = {}
    before = {one.pid: _notes(one) for one in processes}
    begun: set[int] = set()
    until = time.monotonic() + timeout_s
    waiting = list(processes)
    while waiting and time.monotonic() < until:
        time.sleep(_LOOK_S)
        for one in list(waiting):
            report = _report(one)
            mine = report is not None and any(Path(file).parent == folder for file in report.files[-1:])
            if report is not None and mine and one.pid not in begun:
                begun.add(one.pid)
                until = time.monotonic() + timeout_s
            if report is not None and mine and report.stop >= 0:
                done[one.pid] = report
                waiting.remove(one)
        waiting = [one for one in waiting if lives(one.pid)]
    missing: list[str] = []
    for one in [one for one in processes if one.pid not in done]:
        name = said("rank {rank}", rank=one.rank) if one.world_size > 1 else said("process {pid}", pid=one.pid)
        new = [note for note in _notes(one) if note not in before[one.pid]]
        missing.append(_missing(one, name, new[-1] if new else "", timeout_s, begun=one.pid in begun))
    return list(done.values()), missing


def _missing(process: AskableProcess, name: str, note: str, timeout_s: float, *, begun: bool) -> str:
    if not lives(process.pid):
        return said("{name} ended before it had recorded", name=name)
    if note:
        return said(
            "{name} has recorded nothing in {timeout_s:.0f} s ({note})",
            name=name, timeout_s=timeout_s, note=retold(note),
        )  # fmt: skip
    if begun:
        return said("{name} has not ended its recorded steps in {timeout_s:.0f} s", name=name, timeout_s=timeout_s)
    return said(
        "{name} ended no step in {timeout_s:.0f} s, so that nothing was recorded of it",
        name=name, timeout_s=timeout_s,
    )  # fmt: skip


def _notes(process: AskableProcess) -> list[str]:
    """What went wrong in it so far."""
    report = _report(process)
    return report.notes if report is not None else []


def _report(process: AskableProcess) -> ProcessReport | None:
    with contextlib.suppress(OSError, ValueError, TypeError):
        return ProcessReport.read(process.reports / f"{socket.gethostname()}_{process.pid}.json")
    return None
