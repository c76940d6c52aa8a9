"""What is to be tried, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.trying.job.settings import TrialSettings


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What is to be tried.

    Attributes:
        seconds: How long all of it may take.
        only: Names of remedies; empty for those whose finding fired.
        everything: Try all that fit.
        limit_s: Seconds after which a run is taken to hang; 0 for what follows from the first run.
        steps: Steps to time of each run at least.
        timed_s: Seconds to time of each run at least.
        settings: What runs do.
        prices: Measured prices of earlier trials.
    """

    seconds: float = 600.0
    only: tuple[str, ...] = ()
    everything: bool = False
    limit_s: float = 0.0
    steps: int = 20
    timed_s: float = 2.0
    settings: TrialSettings = field(default_factory=lambda: TrialSettings("", ""))
    prices: tuple[dict[str, object], ...] = ()
