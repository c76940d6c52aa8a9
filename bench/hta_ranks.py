"""What HolisticTraceAnalysis says of the ranks of a job; run in an environment of its own.

Usage: python hta_ranks.py FOLDER. Prints as JSON the ranks that it takes for stragglers, and of each rank the time that
it calls idle, computing and other, in ns.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Analyse all ranks of a folder."""
    logging.disable(logging.WARNING)
    from hta.trace_analysis import TraceAnalysis

    files = {}
    for path in sorted(folder.glob("**/*.json*")):
        head = json.loads(path.read_text(encoding="utf-8")).get("distributedInfo", {})
        files[int(head.get("rank", len(files)))] = str(path.absolute())
    job = TraceAnalysis(trace_files=files, trace_dir="/")
    try:
        late: object = [int(rank) for rank in job.get_potential_stragglers(num_candidates=1)]
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        late = f"{type(error).__name__}: {error}"
    times = job.get_temporal_breakdown(visualize=False)
    parts = {
        int(row["rank"]): [round(float(row[f"{name}_time(us)"]) * 1000) for name in ("idle", "compute", "non_compute")]
        for row in times.to_dict("records")
    }
    print(json.dumps({"late": late, "parts": parts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
