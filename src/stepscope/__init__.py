"""Where each step's time and memory went, from any profiler's recording.

    import stepscope

    with stepscope.open("trace.json.gz") as trace:
        report = trace.analyze()
        report.table("step_budget").to_pandas()

`import stepscope` alone is quick: what is named here is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope.api import Trace, compare, open, sweep
    from stepscope.comparison.result import Comparison
    from stepscope.comparison.sweep.result import Sweep
    from stepscope.model.errors import MissingInputError, StepscopeError, UnusableInputError, UserError
    from stepscope.model.table import Table
    from stepscope.planning.api import plan
    from stepscope.record.annotate import annotate, annotate_modules
    from stepscope.record.api.profile import profile
    from stepscope.record.now import record_now
    from stepscope.reports.report import Report

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "MissingInputError",
    "Report",
    "StepscopeError",
    "Sweep",
    "Table",
    "Trace",
    "UnusableInputError",
    "UserError",
    "__version__",
    "annotate",
    "annotate_modules",
    "compare",
    "open",
    "plan",
    "profile",
    "record_now",
    "sweep",
]

_HOMES = {
    "Comparison": "stepscope.comparison.result",
    "MissingInputError": "stepscope.model.errors",
    "Report": "stepscope.reports.report",
    "StepscopeError": "stepscope.model.errors",
    "Sweep": "stepscope.comparison.sweep.result",
    "Table": "stepscope.model.table",
    "Trace": "stepscope.api",
    "UnusableInputError": "stepscope.model.errors",
    "UserError": "stepscope.model.errors",
    "compare": "stepscope.api",
    "annotate": "stepscope.record.annotate",
    "annotate_modules": "stepscope.record.annotate",
    "open": "stepscope.api",
    "plan": "stepscope.planning.api",
    "profile": "stepscope.record.api.profile",
    "record_now": "stepscope.record.now",
    "sweep": "stepscope.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module stepscope has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
