"""Cut names that are too long to be shown, and keep each whole, once."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.model.sizes import SIZES
from stepscope.store.staging import NAMES, Staging

#: Room for what is written behind the first characters of a name: how many it has, and what tells it from others.
_BEHIND: Final = 48
_CUT_SQL: Final = """
left("{column}", {kept}) || '… [' || length("{column}") || ' characters, ' || left(md5("{column}"), 8) || ']'
"""


def cut_long_names(staging: Staging) -> None:
    """Cut names in every staged table, before anything looks at them.

    What works on a name, such as an expression that tells kernels, takes time for each of its characters, and reports
    hold each name several times.
    """
    cut = sum(_cut(staging, table, columns) for table, columns in NAMES.items() if staging.may_have(table))
    if cut:
        staging.count_rows()
    staging.observe(
        "name-long", "info", cut,
        said("names have more than {name_characters:,} characters", name_characters=SIZES.name_characters),
        "they are cut; table long_texts has them whole",
    )  # fmt: skip


def _cut(staging: Staging, table: str, columns: tuple[str, ...]) -> int:
    most = SIZES.name_characters
    # Bytes are known without counting characters.
    longest = staging.one(f"""SELECT {", ".join(f'max(strlen("{column}"))' for column in columns)} FROM "{table}" """)
    found = 0
    for column, bytes_ in zip(columns, longest, strict=True):
        if (bytes_ or 0) <= most:
            continue
        short, where = _CUT_SQL.format(column=column, kept=max(0, most - _BEHIND)), f'length("{column}") > {most}'
        [new] = staging.one(
            f'INSERT INTO long_texts SELECT DISTINCT {short} AS text, "{column}" FROM "{table}" WHERE {where} '
            f"AND {short} NOT IN (SELECT text FROM long_texts)"
        )
        staging.connection.execute(f'UPDATE "{table}" SET "{column}" = {short} WHERE {where}')
        found += new
    return found
