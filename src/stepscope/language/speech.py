"""The language that a command, or a request, speaks, and texts in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from stepscope.language.catalogue import catalogue_of
from stepscope.language.recall import patterns_of
from stepscope.language.said import Said

#: English is what the code says; of the others there are catalogues.
LANGUAGES: Final = ("en", "zh")
#: Variables that name the locale for messages, the first that is set decides (POSIX, "Locale", LC_MESSAGES).
_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
_PROCESS: Final = ["en"]
_ASKED: Final = [False]
#: Locales of no language (POSIX, "Locale").
_NONE: Final = ("", "c", "posix")
_HERE: Final[ContextVar[str | None]] = ContextVar("language", default=None)


def of_locale(environ: Mapping[str, str]) -> str:
    """The language of a locale such as `zh_CN.UTF-8`; English where there is no other."""
    return named_by_locale(environ) or "en"


def named_by_locale(environ: Mapping[str, str]) -> str | None:
    """The same; English where the locale names a language that is not one of `LANGUAGES`, None where it names none."""
    locale = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    language = locale.partition("_")[0].partition(".")[0].partition("@")[0].lower()
    if language in _NONE:
        return None
    return language if language in LANGUAGES else "en"


def spoken() -> str:
    """The language spoken here: one of `LANGUAGES`."""
    return _HERE.get() or _PROCESS[0]


def speak(language: str, asked: bool = False) -> None:
    """Speak a language in this process from now on.

    Args:
        language: One of `LANGUAGES`.
        asked: Whether it was asked for by its name, so that nothing else decides.
    """
    _PROCESS[0], _ASKED[0] = language, asked


def asked() -> bool:
    """Whether the language of this process was asked for."""
    return _ASKED[0]


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language in this thread, as for one request."""
    before = _HERE.set(language)
    try:
        yield
    finally:
        _HERE.reset(before)


def told(text: str, language: str | None = None) -> str:
    """A text in a language, as a plain `str`: what was `said` by its parts, others where the catalogue has them whole.

    Args:
        text: What is to be shown; names of a recording are no such texts, and stay as they are.
        language: One of `LANGUAGES`; the one that is spoken unless given.
    """
    language = language or spoken()
    if language == "en":
        return str(text)
    catalogue = catalogue_of(language)
    return text.in_words_of(catalogue) if isinstance(text, Said) else catalogue.pattern(text) or str(text)


def recalled(text: str, language: str | None = None) -> str:
    """A text that comes back from a file as `Said`, by the one pattern of the catalogue that it fits closest.

    What a store, a JSON file or another process's output holds is plain text. It is taken for the pattern that has most
    of it as fixed words; where none has at least some, or in English, it stays as it is.
    """
    language = language or spoken()
    if language == "en" or isinstance(text, Said):
        return text
    return patterns_of(language).recalled(text)
