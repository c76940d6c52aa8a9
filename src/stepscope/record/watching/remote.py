"""Put the hooks into a program that was not prepared: Python 3.14 runs a script in another process that asks it to.

See PEP 768 and https://docs.python.org/3.14/library/sys.html#sys.remote_exec: both sides need the same minor version,
and a program that was not started with `PYTHON_DISABLE_REMOTE_DEBUG` or `-X disable-remote-debug`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.inject import later
from stepscope.record.job.watch.control import waiting_settings
from stepscope.record.watching.refusing import python_of


def can_put_in(pid: int) -> bool:
    """Whether this Python can have a process run a script."""
    return _remote_exec() is not None and python_of(pid) == sys.version_info[:2]


def put_in(pid: int, control: Path) -> None:
    """Have a process wait to be asked from its next instruction on.

    Args:
        pid: Its number.
        control: The folder in which it is to look.

    Raises:
        UserError: It can't be.
    """
    run = _remote_exec()
    assert run is not None
    script = _script(pid, control)
    script.touch(mode=0o600)
    package = str(Path(__file__).resolve().parents[2])
    source = Path(later.__file__).read_text(encoding="utf-8")
    script.write_text(
        f"{source}\n\nput_in_place({package!r}, {waiting_settings(control).text()!r})\n", encoding="utf-8"
    )
    try:
        run(pid, str(script))
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(
            said("process {pid} does not let a script be run ({error})", pid=pid, error=error),
            hint="allow it with ptrace_scope or CAP_SYS_PTRACE, or start it with stepscope record --wait",
        ) from error


def remove(pid: int, control: Path) -> None:
    """Remove what it has run."""
    _script(pid, control).unlink(missing_ok=True)


def _script(pid: int, control: Path) -> Path:
    return control / f"{pid}.py"


def _remote_exec() -> Callable[[int, str], None] | None:
    found: Callable[[int, str], None] | None = getattr(sys, "remote_exec", None)
    return found
