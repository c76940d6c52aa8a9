"""Families of kernel names: ordered lists of patterns, each with its class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName


@dataclass(frozen=True)
class NameRule:
    """A pattern searched for in a qualified name, and the class of the names that hold it.

    Attributes:
        op_class: What such names are.
        written: The pattern as written; in lower case, if `folded`.
        folded: Whether the pattern looks at the name in lower case, which is twice as fast as to ignore case.
    """

    op_class: OpClass
    written: str
    folded: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when the first name asks: most recordings need few of them, stored ones none."""
        return re.compile(self.written)


@dataclass(frozen=True, slots=True)
class Family:
    """The rules for the kernels of one library; the first that matches decides.

    Attributes:
        name: The library or kind of library.
        words: A name that holds none of these, in lower case, is not of this family; empty to try always.
        rules: Tried in order.
    """

    name: str
    words: tuple[str, ...]
    rules: tuple[NameRule, ...]

    def op_class(self, name: KernelName) -> OpClass | None:
        """The class this family gives to a name, or None if it does not know it."""
        if self.words and not _holds(name.folded, self.words):
            return None
        return first(self.rules, name.path, name.folded)


def first(rules: tuple[NameRule, ...], path: str, folded: str) -> OpClass | None:
    """The class of the first rule that matches."""
    for rule_ in rules:
        if rule_.pattern.search(folded if rule_.folded else path):
            return rule_.op_class
    return None


def rule(op_class: OpClass, *patterns: str) -> NameRule:
    """A rule from alternatives in lower case, matched without regard to the name's case."""
    return NameRule(op_class, "|".join(patterns), folded=True)


def exact(op_class: OpClass, *patterns: str) -> NameRule:
    """A rule from alternatives, matched with regard to case."""
    return NameRule(op_class, "|".join(patterns), folded=False)


def _holds(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 -- a generator would cost more than the search
        if word in text:
            return True
    return False
