"""TensorBoard's tab *Stepscope*: the page of every recording below its folder (`--logdir`).

TensorBoard finds it by the entry point `tensorboard_plugins`. It loads every such module whether its tab is wanted or
not, and does not start where that fails: this one imports nothing large, and nothing that may be absent.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBLoader, TBPlugin

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from stepscope.web.runs.watching import Watching

_NAME: Final = "stepscope"
#: Below it TensorBoard puts the addresses of this plugin.
_PREFIX: Final = f"/data/plugin/{_NAME}"
_MODULE: Final = "/index.js"
#: TensorBoard calls this in a frame, whose addresses are relative to the plugin's.
_SCRIPT: Final = b'export function render() { location.replace("index.html"); }\n'
_ANY: Final = "*"


class StepscopePlugin(TBPlugin):  # type: ignore[misc]
    """The tab, as TensorBoard asks for it.

    Args:
        context: TensorBoard's folder and options.
    """

    plugin_name = _NAME

    def __init__(self, context: TBContext) -> None:
        self._folder = str(context.logdir or "")
        self._hosts = allowed_hosts(context.flags)
        self._watching: Watching | None = None

    def get_plugin_apps(self) -> dict[str, Any]:
        """All addresses below the plugin's."""
        from stepscope.web.wsgi import wsgi

        answer = wsgi(self._application(), _PREFIX)
        return {_MODULE: answer, "/*": answer}

    def is_active(self) -> bool:
        """Whether there is a recording, as far as it is known: the search goes on in the background."""
        return self._watching is not None and bool(self._watching.found().runs)

    def frontend_metadata(self) -> FrontendMetadata:
        """The name of the tab, and what makes its content; it looks for new recordings by itself."""
        return FrontendMetadata(es_module_path=_MODULE, tab_name="Stepscope", disable_reload=True)

    def _application(self) -> ASGIApp:
        from starlette.requests import Request
        from starlette.responses import Response
        from starlette.routing import Route

        from stepscope.web.answers import bytes_answer
        from stepscope.web.runs.app import runs_application
        from stepscope.web.runs.finding import Finder
        from stepscope.web.runs.opened import OpenedRuns
        from stepscope.web.runs.watching import Watching
        from stepscope.web.security import Guard
        from stepscope.web.speaking import Speaking

        def module(request: Request) -> Response:
            return bytes_answer(request, _SCRIPT, "text/javascript")

        # A folder elsewhere (gs://, s3://) and several ones (--logdir_spec) are none of this machine's.
        folder = Path(self._folder).expanduser() if self._folder and "://" not in self._folder else None
        self._watching = Watching(Finder(folder))
        app = runs_application(OpenedRuns(self._watching))
        app.router.routes.insert(0, Route(_MODULE, module))
        advice = "start TensorBoard with --stepscope_allowed_hosts NAME"
        return Speaking(Guard(app, None, self._hosts, advice=advice))


class PluginLoader(TBLoader):  # type: ignore[misc]
    """Makes the plugin, and defines its option."""

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add `--stepscope_allowed_hosts`."""
        parser.add_argument_group(f"{_NAME} plugin").add_argument(
            "--stepscope_allowed_hosts", metavar="NAMES", default="",
            help="Host names, separated by commas, under which the tab Stepscope answers besides this machine's and "
            f"that of --host, such as that of a proxy; `{_ANY}` for any.",
        )  # fmt: skip

    def load(self, context: TBContext) -> StepscopePlugin:
        """The plugin."""
        return StepscopePlugin(context)


def allowed_hosts(flags: Any) -> list[str] | None:
    """Host names under which the tab answers; None for any, where TensorBoard serves others anyway."""
    from stepscope.web.security import LOCAL

    given = [name for name in str(getattr(flags, "stepscope_allowed_hosts", "") or "").split(",") if name]
    if _ANY in given or getattr(flags, "bind_all", False):
        return None
    host = getattr(flags, "host", None)
    return [*LOCAL, *([str(host)] if host else []), *given]
