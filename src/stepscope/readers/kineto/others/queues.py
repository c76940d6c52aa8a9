"""Queues of devices that lanes tell."""

from __future__ import annotations

from typing import Final

#: Takes events of queues, whose categories are known, for device work.
KERNELS_SQL: Final = """
INSERT INTO raw_kernels (event, kind)
SELECT id, CASE category WHEN 'copy' THEN 'copy' WHEN 'set' THEN 'set' WHEN 'collective' THEN 'comm' END
FROM raw_events WHERE track IN (SELECT unnest(?)) AND category IN ('copy', 'set', 'collective', 'kernel') ORDER BY id
"""
