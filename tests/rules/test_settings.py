from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.model.errors import UserError
from stepscope.rules.registry import all_rules
from stepscope.rules.settings import Settings, load

RULE = all_rules()["DAT001"]


def codes(settings: Settings) -> set[str]:
    return {registered.rule.code for registered in settings.chosen()}


@pytest.mark.parametrize("word", ["data", "DAT", "dat001", "loader-wait"])
def test_rules_are_selected_by_family_code_beginning_and_name(word: str) -> None:
    assert "DAT001" in codes(Settings().selecting([word]))
    assert not {code for code in codes(Settings().selecting([word])) if not code.startswith("DAT")}
    assert "DAT001" not in codes(Settings().selecting((), [word]))


def test_words_may_be_joined_by_commas() -> None:
    assert codes(Settings().selecting(["DAT001,DAT001"])) == {"DAT001"}


def test_thresholds_are_set_one_by_one() -> None:
    settings = Settings().setting(["DAT001.min_share=0.2"])
    assert settings.limits(RULE)["min_share"] == 0.2
    assert Settings().limits(RULE)["min_share"] == 0.01


@pytest.mark.parametrize(
    "assignment",
    ["DAT001", "DAT001.min_share", "XXX001.a=1", "DAT001.a=1", "DAT001.min_share=x", "DAT001.min_share=nan"],
)
def test_what_can_not_be_set_is_refused(assignment: str) -> None:
    with pytest.raises(UserError):
        Settings().setting([assignment])


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UserError, match="no rule or family is called 'nonsense'"):
        Settings().selecting(["nonsense"])


def test_the_nearest_file_counts_and_the_command_line_goes_before_it(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    text = '[rules]\nignore = ["DAT001"]\nselect = ["data"]\nleast = 0.05\n[rules.DAT001]\nmin_share = 0.5\n'
    (tmp_path / "stepscope.toml").write_text(text)
    settings = load(inner)
    assert (settings.select, settings.ignore, settings.least) == (("data",), ("DAT001",), 0.05)
    assert settings.limits(RULE)["min_share"] == 0.5
    assert settings.setting(["DAT001.min_share=0.1"]).limits(RULE)["min_share"] == 0.1
    assert settings.selecting(["loader-wait"]).select == ("loader-wait",)
    assert load(Path(tmp_path.anchor)) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "rules = 3", "[other]", "[rules]\nselect = 'data'", "[rules]\nselect = ['nonsense']", "[rules]\nx = 1",
        "[rules.DAT001]\nno = 1", "[rules.DAT001]\nmin_share = true", "[rules]\nleast = 'a'", "not toml",
    ],
)  # fmt: skip
def test_a_file_with_what_is_no_setting_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "stepscope.toml").write_text(text)
    with pytest.raises(UserError):
        load(tmp_path)
