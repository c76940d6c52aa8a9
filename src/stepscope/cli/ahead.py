"""Import the modules that a report needs while the recording is read, on a core that reading leaves idle."""

from __future__ import annotations

import threading
from functools import cache


@cache
def import_ahead() -> None:
    """Import the modules that build and show a report, in a thread of its own.

    Started before anything is being read, it would make that begin later: both would hold the interpreter in turns.
    """
    threading.Thread(target=_import, name="stepscope-imports", daemon=True).start()


def _import() -> None:
    # In the order of need.
    import stepscope.ingest.derive
    import stepscope.reports.build
    import stepscope.reports.terminal  # noqa: F401
    from stepscope.analyses.registry import analyses
    from stepscope.model.errors import UserError
    from stepscope.rules.registry import all_rules

    analyses()
    try:
        all_rules()
    except UserError:
        # A broken rule of a third party is reported when the rules are loaded.
        return
