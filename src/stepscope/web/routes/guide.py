"""The guide from symptoms to settings, and the pages on rules and remedies, to be read beside the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.guide.node import GuidePlace
from stepscope.guide.tree import BY_KEY, TREE
from stepscope.language import said, spoken, told
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.rules import documentation, remedies
from stepscope.rules.registry import all_rules
from stepscope.web.answers import json_answer
from stepscope.web.viewing import Viewing


def routes(_: Viewing) -> Sequence[BaseRoute]:
    """`api/guide`, the places of the guide; `api/words?name=NAME`, a page on a rule or a remedy as HTML."""

    def guide(request: Request) -> Response:
        return json_answer(request, {"places": [place_values(place) for place in TREE]})

    def words(request: Request) -> Response:
        return json_answer(request, words_on(request.query_params.get("name", "")))

    return [Route("/api/guide", guide), Route("/api/words", words)]


def saved(viewing: Viewing) -> Iterator[str]:
    """The guide, and the pages on the rules of all findings and on the remedies at the end of the way."""
    head = json.loads(viewing.whole_report().head())
    yield "api/guide"
    for name in dict.fromkeys((*(one["code"] for one in head["findings"]), *BY_KEY[head["guide"]["end"]].remedies)):
        yield f"api/words?name={name}"


def place_values(place: GuidePlace) -> dict[str, Any]:
    """A place of the guide as JSON values, and what its remedies are called (`titles`)."""
    return {
        **asdict(place),
        "turns": [(told(seen), to) for seen, to in place.turns],
        "settings": [told(one) for one in place.settings],
        "titles": [_called(name) for name in place.remedies],
    }


def _called(remedy: str) -> str:
    """A remedy's name in words; in another language the title of its page, before what that explains."""
    if spoken() == "en":
        return remedy.replace("-", " ")
    return remedies.text(remedy, spoken()).partition("# ")[2].partition("\n")[0].partition("：")[0].strip()


def words_on(name: str) -> dict[str, Any]:
    """A page on a rule, by its code, or on a remedy: `title`, and `html` of its text.

    Raises:
        UserError: There is no such page.
    """
    from markdown_it import MarkdownIt  # takes 40 ms to import

    rules = all_rules()
    if name not in rules and name not in remedies.names():
        raise UserError(
            said("there is no page on {name!r}", name=name[:40]), hint=choose(name, (*rules, *remedies.names()))
        )
    language = spoken()
    text = documentation.page(rules[name], language) if name in rules else remedies.text(name, language)
    title, _, rest = text.lstrip("# ").partition("\n")
    # Texts of stepscope's own; this preset has no HTML and no addresses that run scripts all the same.
    markdown = MarkdownIt("js-default", {"html": False, "linkify": False})
    tokens = markdown.parse(rest)
    for link in (one for token in tokens for one in token.children or () if one.type == "link_open"):
        address = str(link.attrGet("href"))
        if address.endswith(".md") and ":" not in address:
            link.attrSet("href", f"#/guide?read={Path(address).stem}")
    return {"title": title.strip(), "html": markdown.renderer.render(tokens, markdown.options, {})}
