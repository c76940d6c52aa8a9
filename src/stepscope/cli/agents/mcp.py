"""``stepscope mcp``: the same answers over the Model Context Protocol."""

from __future__ import annotations

from stepscope.cli.options import NoCache, PathList, Store
from stepscope.language import said


def mcp(paths: PathList, no_cache: NoCache = False, store: Store = None) -> None:
    """Answer an agent's questions about recordings over the Model Context Protocol, on standard input and output.

    Each path is one recording; nothing else can be read. Needs `pip install 'stepscope[mcp]'`.
    """
    from importlib.util import find_spec

    from stepscope import __version__
    from stepscope.cli.opening import open_input
    from stepscope.model.errors import UserError

    if find_spec("mcp") is None:
        raise UserError("the Model Context Protocol needs its library", hint="pip install 'stepscope[mcp]'")
    from stepscope.agents.opened import Recordings
    from stepscope.agents.server import server_of

    for path in paths:
        if not path.exists():
            raise UserError(said("{path} does not exist", path=path), hint="give files or folders with recordings")

    recordings = Recordings(paths, lambda path: open_input([path], cache=not no_cache, store=store, locked=True))
    try:
        server_of(recordings, __version__).run("stdio")
    finally:
        recordings.close()
