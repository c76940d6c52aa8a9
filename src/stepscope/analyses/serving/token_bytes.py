"""What one token takes in the key/value cache, from the shapes of the operators that write it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Final

from stepscope.analyses.serving.passes import served_passes
from stepscope.model.dtypes import itemsize
from stepscope.model.trace import Trace

#: Operators that write keys and values of new tokens: key, value, then the cache of keys and that of values.
_BOTH: Final = re.compile(r"(?:^|::)(?:reshape_and_cache(?:_flash)?|store_cache)$")
#: Those of multi-head latent attention: the compressed part, the part with positions, then the cache.
_LATENT: Final = re.compile(r"(?:^|::)concat_and_cache_mla$")
_SQL: Final = """
SELECT s.ts, n.name, i.shapes, i.dtypes FROM op_inputs i JOIN spans s ON s.id = i.event JOIN names n USING (name_id)
WHERE regexp_matches(n.name, '(^|::)(reshape_and_cache(_flash)?|store_cache|concat_and_cache_mla)$')
    AND i.shapes IS NOT NULL AND i.dtypes IS NOT NULL ORDER BY s.ts
"""


def token_bytes(trace: Trace) -> int | None:
    """Bytes that a token's keys and values take in the cache of this rank, over all layers, int > 0.

    They are what the operators of one pass write for each token: number of calls (one per layer) times elements per
    token times the size of the cache's elements. None where no pass has such operators with shapes, or where passes
    differ.

    Ask for it with `Trace.once`.
    """
    rows = trace.rows(_SQL)
    if not rows:
        return None
    found: Counter[int] = Counter()
    for one in trace.once(served_passes):
        calls = [row for row in rows if one.start <= row["ts"] < one.stop]
        # An engine's operator may call a library's of the same kind.
        by_name = Counter(row["name"] for row in calls)
        chosen = by_name.most_common(1)[0][0] if by_name else ""
        sizes = [_written(row["name"], row["shapes"], row["dtypes"]) for row in calls if row["name"] == chosen]
        if sizes and None not in sizes:
            found[sum(size for size in sizes if size is not None)] += 1
    return next(iter(found)) if len(found) == 1 else None


def _written(name: str, shapes: str, dtypes: str) -> int | None:
    """Bytes that a call writes for each token; None if its inputs do not tell."""
    try:
        dims, types = json.loads(shapes), json.loads(dtypes)
        new, other = (prod(_rest(dims[i])) for i in (0, 1))
        size = itemsize(types[2])
    except (ValueError, TypeError, IndexError, KeyError):
        return None
    if not new or not other or not size or (_BOTH.search(name) is None and _LATENT.search(name) is None):
        return None
    return (new + other) * size


def _rest(dims: Sequence[int]) -> Sequence[int]:
    """The dimensions behind that of tokens."""
    if len(dims) < 2:
        raise ValueError("a tensor without a dimension beside that of tokens")
    return dims[1:]
