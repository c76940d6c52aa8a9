"""Compare two inputs: one rank of each, and, where they hold jobs of several ranks, all of them."""

from __future__ import annotations

from dataclasses import replace

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.result import Comparison
from stepscope.jobs.late import late_words
from stepscope.jobs.side import compared_job
from stepscope.jobs.tables import job_tables
from stepscope.language import listing
from stepscope.model.trace import Trace


def compare_inputs(base: Trace, new: Trace, options: CompareOptions | None = None) -> Comparison:
    """Compare two inputs; see `compare_traces`. Without ranks or steps asked for, all ranks of jobs are compared, too.

    Raises:
        UserError: A side lacks the rank or step asked for.
    """
    options = options or CompareOptions()
    found = compare_traces(base, new, options)
    chosen = options.rank is not None or options.base_rank is not None or options.steps or options.base_steps
    if chosen or max(len(base.ranks), len(new.ranks)) < 2 or (options.levels and "overall" not in options.levels):
        return found
    if found.base.unit != found.new.unit:  # a rank's steps are not held against whole recordings either
        return found
    jobs = compared_job(base), compared_job(new)
    tables = job_tables(*jobs, options.confidence)
    late = late_words(*jobs, per_step=found.step_time.unit != "window")
    cause = listing(filter(None, (late, found.cause)), "; ")
    return replace(found, tables={**found.tables, **tables}, cause=cause)
