"""Settings of rules and thresholds: defaults, then `stepscope.toml`, then the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from stepscope.rules.rule import Limits, Registered

FILE: Final = "stepscope.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """How to diagnose.

    Attributes:
        select: Families, codes or their beginnings, or names of rules to run; empty for all.
        ignore: The same, of rules not to run.
        thresholds: By code and name, where they differ from the defaults.
        least: Share of the step below which a finding is not shown.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    least: float = 0.01

    def limits(self, registered: Registered) -> Limits:
        """The thresholds of a rule."""
        own = {threshold.name: threshold.default for threshold in registered.rule.thresholds}
        return {**own, **self.thresholds.get(registered.rule.code, {})}

    def chosen(self) -> list[Registered]:
        """The rules to run, in order."""
        return [
            rule
            for rule in _rules().values()
            if (not self.select or _matches(rule, self.select)) and not _matches(rule, self.ignore)
        ]

    def selecting(self, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Settings:
        """The same with rules selected, instead of those selected so far, or ignored besides those ignored so far.

        Raises:
            UserError: There is no such rule or family.
        """
        select, ignore = _known(select, "--select"), _known(ignore, "--ignore")
        return replace(self, select=select or self.select, ignore=(*self.ignore, *ignore))

    def setting(self, assignments: Iterable[str]) -> Settings:
        """The same with thresholds set, each given as `CODE.name=value`.

        Raises:
            UserError: A rule or threshold does not exist, or the value is no number.
        """
        changed = {code: dict(values) for code, values in self.thresholds.items()}
        for assignment in assignments:
            target, equals, value = assignment.partition("=")
            code, _, name = target.strip().partition(".")
            if not equals:
                raise UserError(
                    said("{assignment!r} sets nothing", assignment=assignment), hint="write CODE.threshold=value"
                )
            changed.setdefault(code, {})[name] = _number(code, name, value.strip(), "--set")
        return replace(self, thresholds=changed)


def _rules() -> dict[str, Registered]:
    """Every rule by code; they are imported when they are first asked for, which the defaults do not."""
    from stepscope.rules.registry import all_rules

    return all_rules()


def load(folder: Path) -> Settings:
    """The settings of the nearest `stepscope.toml` in a folder or above it; the defaults if there is none.

    Raises:
        UserError: The file can't be read or holds what is no setting.
    """
    for place in (folder, *folder.parents):
        path = place / FILE
        if path.is_file():
            return _from_file(path)
    return Settings()


def _from_file(path: Path) -> Settings:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(
            said("{path} can't be read ({error})", path=path, error=error), hint="correct or remove it"
        ) from error
    table = document.get("rules", {})
    unknown = [key for key in document if key != "rules"]
    if unknown or not isinstance(table, dict):
        raise UserError(
            said("{path} has no use for {unknown!r}", path=path, unknown=unknown or "rules"),
            hint="settings stand below [rules]",
        )
    settings = Settings()
    thresholds: dict[str, dict[str, float]] = {}
    for key, value in table.items():
        if key == "select":
            settings = replace(settings, select=_known(_list(value, key, path), str(path)))
        elif key == "ignore":
            settings = replace(settings, ignore=_known(_list(value, key, path), str(path)))
        elif key == "least":
            settings = replace(settings, least=_float(value, "least", str(path)))
        elif isinstance(value, dict):
            thresholds[key] = {name: _number(key, name, number, str(path)) for name, number in value.items()}
        else:
            raise UserError(
                said("{path}: rules.{key} is no setting", path=path, key=key), hint="see docs/rules/README.md"
            )
    return replace(settings, thresholds=thresholds)


def _list(value: object, key: str, path: Path) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise UserError(
        said("{path}: rules.{key} is no list of names", path=path, key=key),
        hint=said('write {key} = ["DAT", "kernels"]', key=key),
    )


def _matches(registered: Registered, wanted: Iterable[str]) -> bool:
    code, name = registered.rule.code, registered.rule.name
    return any(code.startswith(one.upper()) or one in (name, registered.family) for one in wanted)


def _known(wanted: Iterable[str], where: str) -> tuple[str, ...]:
    names = tuple(part.strip() for one in wanted for part in one.split(",") if part.strip())
    for name in names:
        if not any(_matches(rule, (name,)) for rule in _rules().values()):
            known = {text for rule in _rules().values() for text in (rule.rule.code, rule.rule.name, rule.family)}
            hint = choose(name, sorted(known), "`stepscope rules` lists them")
            raise UserError(said("{where}: no rule or family is called {name!r}", where=where, name=name), hint=hint)
    return names


def _number(code: str, name: str, value: Any, where: str) -> float:
    registered = _rules().get(code)
    if registered is None:
        raise UserError(
            said("{where}: no rule has the code {code!r}", where=where, code=code), hint="`stepscope rules` lists them"
        )
    names = [threshold.name for threshold in registered.rule.thresholds]
    if name not in names:
        has = said("it has {names}", names=", ".join(names)) if names else said("it has none")
        raise UserError(said("{where}: {code} has no threshold {name!r}", where=where, code=code, name=name), hint=has)
    return _float(value, f"{code}.{name}", where)


def _float(value: Any, what: str, where: str) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError(value)
        number = float(value)
    except (TypeError, ValueError):
        raise UserError(
            said("{where}: {what} can't be {value!r}", where=where, what=what, value=value), hint="give a number"
        ) from None
    if number != number:
        raise UserError(said("{where}: {what} can't be NaN", where=where, what=what), hint="give a number")
    return number
