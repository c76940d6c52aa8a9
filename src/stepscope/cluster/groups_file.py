"""Groups of parallelism as a user states them, for jobs whose recordings do not tell what their groups are for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

#: What groups are for, as `parallel_groups` says it.
PARALLELISMS: Final = ("data", "tensor", "pipeline", "expert", "context", "model", "embedding", "world")
_LIKE: Final = said(
    "write a list such as {example}; see docs/cluster.md", example='[{"parallelism": "tensor", "ranks": [0, 1]}]'
)
_KEYS: Final = {"parallelism", "ranks", "group"}


def read_groups(path: Path) -> tuple[GivenGroup, ...]:
    """Groups of a JSON file: a list of objects with `parallelism`, and `ranks` or `group` or both.

    Raises:
        UserError: The file can't be read, or states no groups.
    """
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            said("{path} can't be read ({reason})", path=path, reason=error.strerror),
            hint="give --groups the name of a file",
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(said("{path} is not JSON", path=path), hint=_LIKE) from error
    if not isinstance(stated, list) or not stated:
        raise UserError(said("{path} holds no list of groups", path=path), hint=_LIKE)
    groups = tuple(_group(path, number, one) for number, one in enumerate(stated, 1))
    for at in ("ranks", "group"):
        told = [(getattr(one, at), one.group if at == "ranks" else "") for one in groups if getattr(one, at)]
        if len(set(told)) < len(told):
            raise UserError(said("{path} states the same {at} twice", path=path, at=at), hint="state each group once")
    return groups


def _group(path: Path, number: int, stated: object) -> GivenGroup:
    where = said("group {number} of {path}", number=number, path=path)
    if not isinstance(stated, dict) or set(stated) - _KEYS:
        raise UserError(said("{group} is no object of {keys}", group=where, keys=", ".join(sorted(_KEYS))), hint=_LIKE)
    parallelism, ranks, name = stated.get("parallelism"), stated.get("ranks", []), stated.get("group", "")
    if parallelism not in PARALLELISMS:
        raise UserError(
            said("{group} has no parallelism called {parallelism!r}", group=where, parallelism=parallelism),
            hint=choose(str(parallelism), PARALLELISMS),
        )
    whole = isinstance(ranks, list) and all(type(rank) is int and 0 <= rank < 1 << 31 for rank in ranks)
    if not whole or len(set(ranks)) < len(ranks):
        raise UserError(said("ranks of {group} are not different whole numbers from 0 on", group=where), hint=_LIKE)
    if not isinstance(name, str) or not (ranks or name):
        raise UserError(said("{group} has neither ranks nor a recorded name", group=where), hint=_LIKE)
    return GivenGroup(parallelism, tuple(sorted(ranks)), name)
