"""Inputs of operators: each text once."""

from __future__ import annotations

from typing import Final

from stepscope.store.inputs import TEXT_COLUMNS, op_inputs_sql
from stepscope.store.staging import Staging

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


def share_texts(staging: Staging) -> None:
    """Move the rows of `op_inputs` to `input_calls` and `input_texts`, where some readers put them at once.

    `op_inputs` is a view of both from then on.
    """
    connection = staging.connection
    if staging.one("SELECT count(*) FROM op_inputs") != (0,):
        connection.execute(_TEXTS_SQL)
        connection.execute(_CALLS_SQL)
    connection.execute("DROP TABLE op_inputs")
    connection.execute(f"CREATE VIEW op_inputs AS {op_inputs_sql()}")
