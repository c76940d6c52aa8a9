"""Errors whose messages are shown to users."""

from __future__ import annotations

from stepscope.language import sentences
from stepscope.model.inputs import ABSENCES, Input


class StepscopeError(Exception):
    """A failure that ends the command: one sentence on what, where and what to do.

    Args:
        message: What is wrong and where, without a trailing full stop.
        hint: What the user can do about it.
        exit_code: Process exit status; 2 is "nothing usable or wrong use".
    """

    def __init__(self, message: str, *, hint: str = "", exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> str:
        """Message and hint, which other languages can be told."""
        return sentences((self.message, self.hint), "; ")


class UserError(StepscopeError):
    """The input or the options can't be used as given."""


class UnusableInputError(UserError):
    """A recording holds nothing that can be analysed."""


class MissingInputError(StepscopeError):
    """An analysis lacks data it needs; `hint` says what to record next time.

    Analyses raise it to abstain; the report turns it into a health line.

    Args:
        message: What is missing.
        hint: What to record next time.
        needs: The kind of input, if it is one of `stepscope.model.inputs`.
    """

    def __init__(self, message: str, *, hint: str = "", needs: Input | None = None) -> None:
        super().__init__(message, hint=hint)
        self.needs = needs

    @classmethod
    def of(cls, needs: Input) -> MissingInputError:
        """The error for a kind of input that is not there."""
        absence = ABSENCES[needs]
        return cls(absence.message, hint=absence.hint, needs=needs)

    def without_traceback(self) -> MissingInputError:
        """A copy to be kept: the frames of a traceback keep all that they worked on in memory."""
        return MissingInputError(self.message, hint=self.hint, needs=self.needs)
