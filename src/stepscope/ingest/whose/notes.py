"""Health lines about whose the recordings are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.ingest.whose.choice import Choice
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.language import said
from stepscope.model.amounts import listed
from stepscope.model.trace import Note

#: In jobs of up to so many ranks, those that are missing are named.
_NAMED_OF: Final = 1 << 16


def notes(found: Sequence[FoundRecordings], choice: Choice) -> list[Note]:
    """What was assumed about runs, spans and ranks, and what is left out for it."""
    return [*_runs(choice), *_spans(choice), *_repeated(found, choice), *_ranks(choice)]


def _runs(choice: Choice) -> list[Note]:
    if len(choice.runs) == 1:
        return []
    others = [run for run in choice.runs if run != choice.run]
    listed = ", ".join(others[:5]) + (said(" and {others} more", others=len(others) - 5) if len(others) > 5 else "")
    return [
        (
            "runs", "warning", len(choice.runs),
            said("the input holds {runs} runs, each with ranks of its own", runs=len(choice.runs)),
            said("{run} is analysed; choose another with --run: {listed}", run=choice.run, listed=listed),
        )
    ]  # fmt: skip


def _spans(choice: Choice) -> list[Note]:
    lines: list[Note] = []
    if choice.most > 1:
        ranks = [rank for rank, group in choice.of_run.ranks.items() if len(group) > 1]
        who = f"rank {ranks[0]} was" if len(ranks) == 1 else f"{len(ranks)} ranks were"
        lines.append(
            (
                "spans", "info", choice.most,
                said("{who} recorded up to {most} times", who=who, most=choice.most) if len(ranks) > 1
                else f"{who} recorded {choice.most} times",
                said("span {span} is analysed; choose another with --span", span=choice.span),
            )
        )  # fmt: skip
    without = sum(len(group) < choice.span for group in choice.of_run.ranks.values())
    if without:
        lines.append(
            (
                "span-missing", "warning", without,
                said("a rank has no span {span}", span=choice.span) if without == 1 else said("{without} ranks "
                                                                                              "have no span "
                                                                                              "{span}",
                                                                                              without=without,
                                                                                              span=choice.span),
                said("left out"),
            )
        )  # fmt: skip
    added = [group[1].path.name for group in choice.ranks.values() if len(group) > 1]
    if added:
        lines.append(
            (
                "snapshot-added", "info", len(added),
                said("memory was recorded in {added}", added=added[0]) if len(added) == 1
                else said("memory of {added} ranks was recorded in snapshots such as "
                          "{added_2}", added=len(added), added_2=added[0]),
                said("memory tables of the rank come from there") if len(added) == 1
                else said("memory tables of these ranks come from there"),
            )
        )  # fmt: skip
    older = sum(len(group) - 1 for group in choice.of_run.contents.values())
    if older:
        lines.append(
            (
                "snapshots-older", "info", older,
                said("a rank has an older memory snapshot too") if older == 1
                else said("older memory snapshots of ranks"),
                said("the last of each rank is analysed; give an older one by its path"),
            )
        )  # fmt: skip
    return lines


def _repeated(found: Sequence[FoundRecordings], choice: Choice) -> list[Note]:
    return repeated([found[one].path for one in choice.of_run.repeated])


def repeated(paths: Sequence[Path]) -> list[Note]:
    """What is said of files that hold a recording which another one holds, too."""
    if not paths:
        return []
    count, name = len(paths), paths[0].name
    return [
        (
            "recording-repeated", "info", count,
            said("{name} holds the same recording as another file", name=name) if count == 1
            else said("{count} files, {name} among them, hold the same recording as another "
                      "file", count=count, name=name),
            said("each recording is analysed once"),
        )
    ]  # fmt: skip


def _ranks(choice: Choice) -> list[Note]:
    lines: list[Note] = []
    members = [one for group in choice.ranks.values() for one in group]
    if conflicts := len(choice.of_run.conflicts):
        lines.append(
            (
                "rank-conflict", "warning", conflicts,
                said("a recording claims a rank that another one has") if conflicts == 1
                else said("recordings claim a rank that another one has"),
                said("they were given free numbers"),
            )
        )  # fmt: skip
    if len(choice.ranks) > 1 and (unknown := sum(one.recording.rank is None for one in members)):
        ordered = choice.of_run.ordered
        lines.append(
            (
                "rank-unknown", "warning" if ordered else "info", unknown,
                said("a recording does not contain its rank") if unknown == 1
                else said("recordings do not contain their rank"),
                said("ranks were taken from the order of files and processes, which may be another one") if ordered
                else said("ranks were taken from names of files and folders"),
            )
        )  # fmt: skip
    size = max((one.recording.world_size or 0 for one in members), default=0)
    if size > len(choice.ranks):
        missing = size - len(choice.ranks)
        # The size may be anything that a file says.
        absent = [rank for rank in range(size) if rank not in choice.ranks] if size <= _NAMED_OF else []
        which = f": {listed(absent, 6)}" if len(absent) == missing else ""
        lines.append(
            (
                "ranks-missing", "info", missing,
                said("the recording of one of the job's {size:,} ranks is not "
                     "given{which}", size=size, which=which) if missing == 1
                else said("the recordings of {missing:,} of the job's {size:,} ranks are not "
                          "given{which}", missing=missing, size=size, which=which),
                said("in collectives, waiting can't be separated from transfer; give the recordings of all ranks"),
            )
        )  # fmt: skip
    return lines
