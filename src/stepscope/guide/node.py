"""A place in the guide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuidePlace:
    """A place in the guide: what to ask there, and where to go on.

    Attributes:
        key: Its name.
        title: What it is about.
        symptoms: Words of users that lead here, in lower case.
        question: What to find out.
        commands: What to run; RECORDING, NEW and BEFORE stand for recordings.
        turns: What is seen, and the place that it leads to.
        families: Families of rules whose findings belong here.
        settings: What to change, as sentences.
        remedies: Pages on remedies.
    """

    key: str
    title: str
    symptoms: tuple[str, ...]
    question: str
    commands: tuple[str, ...]
    turns: tuple[tuple[str, str], ...] = ()
    families: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
