"""A file of names that changed between two recordings."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.language import said
from stepscope.model.errors import UserError


def read_names(path: Path) -> dict[str, str]:
    """Names of the new side by those of the base: a JSON object of texts.

    Raises:
        UserError: The file can't be read, or is something else.
    """
    hint = said("write {example}", example='{"name in the base": "name in the new one"}')
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(said("{path} can't be read ({reason})", path=path, reason=error.strerror), hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise UserError(said("{path} is no JSON object of names", path=path), hint=hint) from error
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise UserError(said("{path} is no JSON object of names", path=path), hint=hint)
    return {str(base): str(new) for base, new in value.items()}
