"""Deduplicate inputs of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.model.events.lookup import match
from stepscope.store.inputs import INPUT_CALLS, TEXT_COLUMNS, op_inputs_sql
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS: Final = ", ".join(f'"{name}"' for name in TEXT_COLUMNS)

_TEXTS_SQL: Final = f"""
INSERT INTO input_texts BY NAME
SELECT nextval('text_ids') AS texts, *
FROM (SELECT DISTINCT hash({_COLUMNS}) AS text_key, {_COLUMNS} FROM op_inputs WHERE coalesce({_COLUMNS}) IS NOT NULL)
ANTI JOIN input_texts USING (text_key)
"""
_CALLS_SQL: Final = f"""
INSERT INTO input_calls
SELECT o.event, t.texts, o.sequence, o.forward_thread
FROM op_inputs o LEFT JOIN input_texts t ON t.text_key = hash({", ".join(f'o."{name}"' for name in TEXT_COLUMNS)})
"""
_OF_CALLS_SQL: Final = "SELECT event, texts FROM input_calls WHERE texts IS NOT NULL"


def share_texts(staging: Staging) -> None:
    """Move the rows of `op_inputs` to `input_calls` and `input_texts`, which some readers fill directly.

    `op_inputs` is a view of both from then on, where there are any.
    """
    connection = staging.connection
    if not staging.may_have("op_inputs", INPUT_CALLS.name):
        return
    if staging.may_have("op_inputs"):
        connection.execute(_TEXTS_SQL)
        connection.execute(_CALLS_SQL)
        staging.count_rows()
    connection.execute("DROP TABLE op_inputs")
    connection.execute(f"CREATE VIEW op_inputs AS {op_inputs_sql()}")


def texts_of(staging: Staging, events: NDArray[np.int64]) -> NDArray[np.int32]:
    """Row of `input_texts` of each operator event, int32[n]; -1 where none is recorded."""
    if not events.size:
        return np.zeros(0, np.int32)
    if not staging.may_have(INPUT_CALLS.name):
        return np.full(events.size, -1, np.int32)
    calls = staging.connection.sql(_OF_CALLS_SQL).to_arrow_table()
    at = match(calls["event"].to_numpy(), events)
    # The last place stands for -1.
    found: NDArray[np.int32] = np.append(calls["texts"].to_numpy(), np.int32(-1))[at]
    return found
