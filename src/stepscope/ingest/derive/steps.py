"""Steps: recorded, annotated, inferred, or the whole recording as one."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Staging

_RAW_STEPS_SQL: Final = (
    "CREATE TABLE raw_steps (step INTEGER, name VARCHAR, number BIGINT, source VARCHAR, ts BIGINT, dur BIGINT)"
)

_RECORDED_SQL: Final = """
INSERT INTO raw_steps
SELECT row_number() OVER (ORDER BY ts) - 1, name, number, 'profiler', ts, dur
FROM (
    SELECT name, try_cast(regexp_extract(name, '#\\s*(\\d+)', 1) AS BIGINT) AS number, ts, dur,
        row_number() OVER (PARTITION BY name ORDER BY dur DESC, id) AS nth
    FROM raw_events JOIN names USING (name_id) JOIN tracks USING (track)
    WHERE category = 'step' AND kind = 'host' AND dur > 0
) WHERE nth = 1
"""

_WHOLE_SQL: Final = """
INSERT INTO raw_steps
SELECT 0, 'whole recording', NULL, 'whole', min(ts), max(ts + coalesce(dur, 0)) - min(ts)
FROM raw_events HAVING count(*) > 0
"""


def derive_steps(staging: Staging) -> None:
    """Fill `raw_steps`: intervals on the host, ascending and without overlap."""
    connection = staging.connection
    connection.execute(_RAW_STEPS_SQL)
    for query in (_RECORDED_SQL, _WHOLE_SQL):
        connection.execute(query)
        if staging.one("SELECT count(*) FROM raw_steps") != (0,):
            return


def extend_steps(staging: Staging) -> None:
    """Fill `steps`: every step reaches to the end of the last device work launched in it."""
    staging.connection.execute(
        "CREATE TABLE steps AS SELECT s.step, s.name, s.number, s.source, s.ts, s.dur, "
        'greatest(s.ts + s.dur, coalesce(k.stop, 0)) AS "end" FROM raw_steps s LEFT JOIN '
        "(SELECT step, max(ts + dur) AS stop FROM kernels WHERE kind <> 'sync' GROUP BY 1) k USING (step) ORDER BY 1"
    )
