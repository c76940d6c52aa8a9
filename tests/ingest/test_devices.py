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


def test_devices_under_other_numbers_are_those_that_are_described_if_these_are_alike() -> None:
    def named(*names: str) -> list[tuple[object, ...]]:
        facts = Facts()
        for device, name in enumerate(names):
            facts.row("devices", device=device, name=name, used=False, sms=304)
        facts.kernel("k", 0, 10, device=9)
        return [
            (row["name"], row["sms"], row["used"])
            for row in facts.trace().sql("SELECT name, sms, used FROM devices WHERE device = 9").to_pylist()
        ]

    assert named("Fast One") == [("Fast One", 304, True)]
    assert named("Fast One", "Fast One") == [("Fast One", 304, True)]
    assert named("Fast One", "Slow One") == [(None, None, True)]
    assert named("") == [(None, None, True)]
