"""MODEL as users give it: a file, a folder with `config.json`, a preset's name, or figures as a mapping."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.planning.family.derive import derive
from stepscope.planning.family.keys import stated
from stepscope.planning.family.named import preset
from stepscope.planning.family.presets import PRESETS
from stepscope.planning.family.shape import ModelShape

#: No configuration file of a model is larger.
_MOST_BYTES: Final = 4 << 20


def read_model(model: str | Path | Mapping[str, Any] | ModelShape) -> ModelShape:
    """The shape of a model.

    Args:
        model: A Hugging Face `config.json`, its folder, a file of one's own, a preset's name, or what such a file says.

    Raises:
        UserError: There is no such model, or what is given does not say what it is.
    """
    if isinstance(model, ModelShape):
        return model
    if isinstance(model, Mapping):
        return shape_of(model, "model")
    path = Path(model)
    if path.is_dir():
        path = path / "config.json"
    if path.is_file():
        return shape_of(_document(path), path.stem if path.name != "config.json" else path.parent.name)
    known = preset(str(model))
    if known is None:
        if path.suffix == ".json":
            raise UserError(
                said("{path} does not exist", path=path),
                hint="give a config.json, a JSON of your own or a preset's name",
            )
        raise UserError(said("there is no model {model!r}", model=str(model)), hint=choose(str(model), sorted(PRESETS)))
    key, figures = known
    return derive(stated({**figures, "name": key}), key)


def shape_of(document: Mapping[str, Any], name: str) -> ModelShape:
    """The shape that a document states, completed by the preset that it names, if there is one."""
    given = stated(document)
    known = preset(str(given.get("name", "")))
    if known is not None:
        figures = stated(known[1])
        same = all(given.get(key, figures.get(key)) == figures.get(key) for key in ("layers", "hidden"))
        if same:
            given = {**figures, **given}
    elif not given.get("layers") and (found := preset(name)):
        given = {**stated(found[1]), **given}
    return derive(given, name)


def _document(path: Path) -> Mapping[str, Any]:
    if path.stat().st_size > _MOST_BYTES:
        raise UserError(said("{path} is too large for a model's configuration", path=path), hint="give its config.json")
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            said("{path} is no JSON ({error})", path=path, error=error), hint="give a model's config.json"
        ) from error
    if not isinstance(document, Mapping):
        raise UserError(
            said("{path} states no model", path=path), hint='give an object with "layers", "hidden" and "heads"'
        )
    return document
