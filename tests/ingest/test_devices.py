"""Which devices are used."""

from __future__ import annotations

from support import Facts


def test_used_devices_are_marked_and_undescribed_ones_added() -> None:
    facts = Facts()
    facts.row("devices", device=0, name="Fast One", used=False)
    facts.row("devices", device=1, name="Fast One", used=False)
    facts.kernel("k", 0, 10, device=1)
    facts.kernel("k", 0, 10, device=5)
    facts.kernel("k", 0, 10, device=None)
    rows = facts.trace().sql("SELECT device, name, used FROM devices ORDER BY device").to_pylist()
    assert [(row["device"], row["name"], row["used"]) for row in rows] == [
        (0, "Fast One", False),
        (1, "Fast One", True),
        (5, None, True),
    ]
