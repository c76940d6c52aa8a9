"""What all rules cost beyond the analyses, in a process of its own.

Usage: python -m bench.rules_run TRACE STORE. Prints the events of the trace and CPU seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from stepscope.analyses.registry import analyses
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import MissingInputError
from stepscope.rules.engine import Diagnosing


def main(path: str, store: str) -> None:
    """Run every analysis, and then every rule, over the first rank."""
    with open_trace(path, Options(store=Path(store))) as whole:
        trace = whole.rank(whole.ranks[0])
        for analysis in analyses().values():
            try:
                trace.once(analysis.run)
            except MissingInputError:
                continue
        start = time.process_time()
        Diagnosing().look_at(trace)
        seconds = time.process_time() - start
        print(json.dumps({"events": trace.scalar("SELECT count(*) FROM spans"), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
