"""Texts that can be told in several languages: English in the code, the others in catalogues beside it."""

from stepscope.language.carrying import brought, carried
from stepscope.language.said import Said, counted, listing, parted, pattern, said, sentences
from stepscope.language.speech import LANGUAGES, asked, recalled, speak, speaking, spoken, told

__all__ = [
    "LANGUAGES", "Said", "asked", "brought", "carried", "counted", "listing", "parted", "pattern", "recalled", "said",
    "sentences", "speak", "speaking", "spoken", "told",
]  # fmt: skip
