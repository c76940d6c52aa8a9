"""Which tracks a page may ask for together, and how high their rows are, before it has any tile of them."""

from __future__ import annotations

from typing import Final

from stepscope.web.tiles.timeline import Timeline

#: Tracks that are looked at: those that a page shows first are among them.
_MOST: Final = 60


def lanes_at_hand(timeline: Timeline) -> dict[int, int]:
    """Lanes of the first rank's tracks that are kept beside the store, by index; the time of a device has one."""
    found = {}
    for index, track in enumerate(timeline.tracks[:_MOST]):
        if track.rank == timeline.tracks[0].rank and timeline.keeps(index):
            found[index] = timeline.pyramid(index).events.lanes if track.form == "events" else 1
    return found
