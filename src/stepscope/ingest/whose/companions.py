"""Samples of the machine: to which recordings of an input they belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stepscope.ingest.inputs import source_of
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.names import worker_in
from stepscope.language import said
from stepscope.model.errors import UnusableInputError


def recordings_alone(found: Sequence[FoundRecordings]) -> tuple[list[FoundRecordings], list[FoundRecordings]]:
    """The recordings, and what only adds to them.

    Raises:
        UnusableInputError: There are no recordings.
    """
    recordings = [one for one in found if not one.companion]
    if not recordings:
        recordings = [one for one in found if source_of(one.recording.reader).alone]
    if not recordings:
        raise UnusableInputError(
            said("{path} holds samples of the machine and no recording", path=found[0].path),
            hint="give the folder that holds both: what was sampled is shown with the steps of a recording",
        )
    return recordings, [one for one in found if one.companion and one not in recordings]


def counted_kernels(
    ranks: Mapping[int, Sequence[FoundRecordings]], samples: Sequence[FoundRecordings]
) -> dict[int, tuple[Path, ...]]:
    """The stores of what kernel profilers counted, for the first rank: they ran the program anew, with its kernels."""
    counted = tuple(one.store for one in samples if source_of(one.recording.reader).alone)
    return {min(ranks): counted} if counted and ranks else {}


def companions(ranks: Mapping[int, Sequence[FoundRecordings]], samples: Sequence[FoundRecordings]) -> dict[int, Path]:
    """The store of the samples that belong to each rank's recording: of its folder, host and time."""
    chosen: dict[int, Path] = {}
    for rank, (recording, *_) in ranks.items():
        near = [one for one in samples if one.path.parent == recording.path.parent and _together(one, recording)]
        if len(near) > 1:
            near = [one for one in near if _same_host(one, recording)]
        if near:
            chosen[rank] = near[0].store
    return chosen


def _together(one: FoundRecordings, other: FoundRecordings) -> bool:
    """Whether both cover a common moment: of samples the whole time of the job is known."""
    sampled, recorded = one.recording.attributes.get("until_unix_ns"), other.between()
    began = one.recording.origin_unix_ns
    if not isinstance(sampled, int) or began is None or recorded is None:
        return False
    return began <= recorded[1] and recorded[0] <= sampled


def _same_host(one: FoundRecordings, other: FoundRecordings) -> bool:
    host = (one.recording.host or "").split(".")[0]
    worker = worker_in(other.path) or ""
    return (bool(host) and (other.recording.host or "").split(".")[0] == host) or f"{host}_" in f"{worker}_"
