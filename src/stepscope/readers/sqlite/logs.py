"""Report write-ahead logs and journals beside a database, whose changes are not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.store.staging import Staging


def observe_logs(staging: Staging, path: Path) -> None:
    """Report in health that a database was not closed: changes may lie in a log beside it, which is not read.

    A process that writes to it, or was killed, leaves them there: <https://www.sqlite.org/wal.html>.
    """
    left = logs_beside(path)
    staging.observe(
        "database-open", "warning", len(left),
        said("{name} was not closed: {left} may have more", name=path.name, left=' and '.join(left)),
        "rows that are only there are missing; open it once with sqlite3, or export the report again",
    )  # fmt: skip


def logs_beside(path: Path) -> list[str]:
    """The names of the logs and journals of a database that have content."""
    logs = [path.with_name(path.name + end) for end in ("-wal", "-journal")]
    return [log.name for log in logs if log.exists() and log.stat().st_size]
