"""HolisticTraceAnalysis doing what `stepscope analyze` does, as far as it can; run in an environment of its own.

Usage: python hta_run.py TRACE. Prints the seconds of each part as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

warnings.simplefilter("ignore")


def main(path: str) -> None:
    """Load one trace and run the five analyses that have a counterpart."""
    start = time.perf_counter()
    from hta.trace_analysis import TraceAnalysis

    parts: dict[str, Any] = {"import": time.perf_counter() - start}

    def timed(name: str, run: Callable[[], Any]) -> Any:
        part_start = time.perf_counter()
        try:
            value = run()
        except Exception as error:
            parts[name] = f"failed: {type(error).__name__}: {error}"[:200]
            return None
        parts[name] = time.perf_counter() - part_start
        return value

    analysis = timed("load", lambda: TraceAnalysis(trace_files={0: path}, trace_dir=""))
    if analysis is not None:
        timed("temporal", lambda: analysis.get_temporal_breakdown(visualize=False))
        timed("kernels", lambda: analysis.get_gpu_kernel_breakdown(visualize=False))
        timed("overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
        timed("idle", lambda: analysis.get_idle_time_breakdown(ranks=[0], visualize=False))
        timed("launches", lambda: analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False))
    parts["total"] = time.perf_counter() - start

    print(json.dumps(parts))


if __name__ == "__main__":
    main(sys.argv[1])
