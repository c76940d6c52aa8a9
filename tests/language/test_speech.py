"""Which language is spoken."""

from __future__ import annotations

import pytest

from stepscope.language import speak, speaking, spoken
from stepscope.language.speech import of_locale


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh_TW@stroke"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zhx_CN"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
    ],
)
def test_the_locale_decides(environ: dict[str, str], language: str) -> None:
    assert of_locale(environ) == language


def test_a_request_speaks_for_itself() -> None:
    speak("en")
    with speaking("zh"):
        assert spoken() == "zh"
    assert spoken() == "en"
