"""Rules that are withheld because the recording holds too little for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Registered
from stepscope.rules.settings import Settings
from stepscope.signals import Signals
from stepscope.signals.recording.enough import verdict

#: Families that need a job that is under way. A batch is waited for at the start as it is later.
_RUNNING: Final = ("host", "synchronisation", "copies", "kernels", "system", "communication", "cluster", "ascend")
#: Those that need events which belong together.
_WHOLE: Final = ("data", "host", "synchronisation", "copies", "kernels", "system")
#: Rules of other families that need one: start-up leaves any device idle.
_LATER: Final = ("MEM008",)
#: Those about what happens once, which any recording may show.
_ONCE: Final = ("DAT002", "HST010", "HST018")
_FAMILIES: Final = {"few": (*_RUNNING, "data"), "first use": _RUNNING, "thinned": _WHOLE}


def withheld(registered: Registered, settings: Settings, ranks: Iterable[Signals]) -> MissingInputError | None:
    """The reason for not running a rule, that is too little recorded on all these ranks.

    Rules selected by name always run.
    """
    if settings.select or registered.rule.code in _ONCE:
        return None
    found = [signals.maybe(verdict) for signals in ranks]
    family = "host" if registered.rule.code in _LATER else registered.family
    kept = [one for one in found if one is None or family not in _FAMILIES.get(one.kind, ())]
    first = next((one for one in found if one is not None), None)
    if kept or first is None:
        return None
    return MissingInputError(first.text.rstrip("."), hint="record some whole iterations after a warm-up")
