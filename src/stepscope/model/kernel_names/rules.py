"""What a family of kernel names is: an ordered list of patterns on the qualified name, each with its class."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern searched for in `KernelName.path`, and the class of the names that hold it."""

    op_class: OpClass
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Family:
    """The rules for the kernels of one library; the first that matches decides.

    Attributes:
        name: The library or kind of library.
        gate: What a name must hold for the rules to be tried at all; None to try them always.
        rules: Tried in order.
    """

    name: str
    gate: re.Pattern[str] | None
    rules: tuple[Rule, ...]

    def op_class(self, name: KernelName) -> OpClass | None:
        """The class this family gives to a name, or None if it does not know it."""
        if self.gate is not None and not self.gate.search(name.path):
            return None
        for rule in self.rules:
            if rule.pattern.search(name.path):
                return rule.op_class
        return None


def rule(op_class: OpClass, *patterns: str) -> Rule:
    """A rule from alternatives, matched without regard to case."""
    return Rule(op_class, re.compile("|".join(patterns), re.IGNORECASE))


def exact(op_class: OpClass, *patterns: str) -> Rule:
    """A rule from alternatives, matched with regard to case."""
    return Rule(op_class, re.compile("|".join(patterns)))
