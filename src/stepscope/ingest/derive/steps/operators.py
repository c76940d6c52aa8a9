"""What operators on the host, of which nothing marks the steps, show of repeated work: a step, or a part of one.

Layers of one pass and an optimizer's updates of one parameter after the other are as periodic as steps.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.ingest.derive.steps.inference import Names
from stepscope.store.staging import Staging

_NAMES_SQL: Final = """
SELECT name_id, name FROM names WHERE name_id IN (SELECT DISTINCT name_id FROM raw_events WHERE category = 'op')
"""
_NETWORK: Final = re.compile(r"linear|addmm|[^a-z]b?mm$|matmul|conv|attention|embedding|lstm|gru|rnn|norm")
_BACKWARD: Final = re.compile(r"^autograd::engine::|Backward\d*$")
#: What optimizers alone do to a parameter: Adam and its kin, Adagrad, RMSprop and Adadelta divide by a root.
_UPDATE: Final = re.compile(r"^aten::addcdiv_$")


def network_operators(staging: Staging) -> Names:
    """Ids of the names of operators that networks consist of, int64[n]."""
    return _named(staging, _NETWORK)


def in_one_step(staging: Staging, every: Names, periods: Names, network: Names) -> bool:
    """Whether periods of operators are parts of one step.

    They are layers if they hold only backward operators, or none although there are some, and updates of parameters if
    they hold such, and neither backward operators nor those of a network.

    Args:
        staging: The recording.
        every: int64[n], names of the operators of a thread.
        periods: int64[m], those of the periods.
        network: The `network_operators`.
    """
    backward = _named(staging, _BACKWARD)
    inside = np.isin(periods, backward)
    if np.isin(every, backward).any() and (inside.all() or not inside.any()):
        return True
    computing = np.isin(periods, network) | inside
    return bool(np.isin(periods, _named(staging, _UPDATE)).any() and not computing.any())


def _named(staging: Staging, pattern: re.Pattern[str]) -> Names:
    names = staging.connection.execute(_NAMES_SQL).fetchall()
    return np.array([name_id for name_id, name in names if pattern.search(name)], np.int64)
