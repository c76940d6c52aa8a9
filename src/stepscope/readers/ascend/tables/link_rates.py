"""Sum up what counters and tables say of links: NIC, RoCE, HCCS and PCIe, by port and direction.

Three exports name the same numbers in three ways: tables (`Rx Bandwidth efficiency(%)`, by `funcId`), traces
(`Port 0/Rx` with `Rx Bandwidth Efficiency`) and databases (`rxByteRate`). Samples stay counters; here they become
rates, shares and losses of `recorded`.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from stepscope.store.staging import Staging

LINKS: Final = {"nic": "NIC", "roce": "RoCE", "hccs": "HCCS", "pcie": "PCIe"}
#: What these tables call MB, as databases with the same numbers in bytes show.
_MEGA: Final = float(1 << 20)
_DIRECTION: Final = re.compile(r"(?:^|[\W_])([rt])x", re.IGNORECASE)
_PORT: Final = re.compile(r"^port (\d+)/| (\d+)$", re.IGNORECASE)
#: Of PCIe, posted writes and completions of reads carry data; requests and latencies do not.
_CARRIES: Final = re.compile(r"post|_p_|cpl", re.IGNORECASE)
_CARRIES_NONE: Final = re.compile(r"non|_np_|lat", re.IGNORECASE)

#: Links of which only the least, mean and largest rate are in a table have no samples.
_SUMMED: Final = """
INSERT INTO recorded
SELECT 'link_rates', NULL, w.subject, CASE lower(r.metric) WHEN 'max' THEN 'peak rate' ELSE 'mean rate' END,
    r.value * w.factor
FROM recorded r JOIN ascend_link_words w ON w.unit = r.source AND w.name = r.subject
WHERE w.what = 'rate' AND lower(r.metric) IN ('max', 'avg', 'average') AND r.value >= 0
    AND NOT EXISTS (FROM recorded o WHERE o.source = 'link_rates' AND o.subject = w.subject)
ORDER BY ALL
"""
#: A table and a trace of the same samples count once.
_SAMPLED: Final = """
INSERT INTO recorded
SELECT 'link_rates', NULL, subject, unnest(['samples', 'mean ' || what, 'peak ' || what]),
    unnest([count(*)::DOUBLE, avg(value), max(value)])
FROM (
    SELECT w.subject, w.what, c.ts, max(c.value * w.factor) AS value
    FROM ascend_counters c JOIN ascend_link_words w ON w.unit = lower(c.unit) AND w.name = c.name
    WHERE c.value >= 0 AND isfinite(c.value) GROUP BY ALL
) GROUP BY subject, what ORDER BY ALL
"""


def add_link_rates(staging: Staging) -> None:
    """Add mean and peak of each link's rate, share, losses and bandwidth to `recorded`, as `link_rates`.

    The subject is `link|port|direction`, without the last two where they are not told; rates are in bytes/s, shares and
    losses fractions.
    """
    names = staging.connection.execute(
        "SELECT DISTINCT lower(unit), name FROM ascend_counters WHERE lower(unit) IN (SELECT unnest($links)) "
        "UNION SELECT DISTINCT source, subject FROM recorded WHERE source IN (SELECT unnest($links))",
        {"links": list(LINKS)},
    ).fetchall()
    rows = [(unit, name, *found) for unit, name in names if (found := _series(unit, name)) is not None]
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    staging.connection.execute(
        "CREATE TABLE ascend_link_words (unit VARCHAR, name VARCHAR, subject VARCHAR, what VARCHAR, factor DOUBLE)"
    )
    kinds = (*[pa.string()] * 4, pa.float64())
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    staging.insert(
        "ascend_link_words", pa.Table.from_arrays(arrays, names=["unit", "name", "subject", "what", "factor"])
    )
    for statement in (_SAMPLED, _SUMMED):
        staging.connection.execute(statement)
    staging.connection.execute("DROP TABLE ascend_link_words")


def _series(unit: str, name: str) -> tuple[str, str, float] | None:
    """Subject, what a series is of it, and the factor to its unit; None for packets, latencies and requests."""
    port, direction = _PORT.search(name), _DIRECTION.search(name)
    subject = f"{LINKS[unit]}|{next(filter(None, port.groups()), '') if port else ''}|"
    text = name.lower()
    if direction is None:
        if text.startswith("bandwidth") and "efficiency" not in text:
            return subject, "bandwidth", _MEGA if "(mb/s)" in text else 1.0
        return None
    subject += "receive" if direction[1].lower() == "r" else "transmit"
    if "efficiency" in text:
        return subject, "share", 0.01
    if "error" in text or "dropped" in text:
        # Databases count packets, where the others have percentages.
        return (subject, "dropped" if "dropped" in text else "errors", 0.01) if "rate" in text else None
    if "packet" in text or text.endswith("bytes"):
        return None
    if unit == "pcie" and (_CARRIES_NONE.search(name) or not _CARRIES.search(name) or re.search("m(in|ax)$", text)):
        return None
    if unit == "pcie":
        subject = subject.replace("||", "|completions|" if "cpl" in text else "|posted|", 1)
    return subject, "rate", 1.0 if "throughput" in text or "byterate" in text or text.endswith("avg") else _MEGA
