"""A server of the page in a thread of this process, for a browser to ask."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.types import ASGIApp

from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from stepscope.web.app import create_app
from stepscope.web.compared.app import create_app as create_comparison
from stepscope.web.server import address, listening, serve

TOKEN = "token-of-tests"


@contextmanager
def answering(app: ASGIApp) -> Iterator[socket.socket]:
    """The socket at which an application answers."""
    with listening("127.0.0.1", 0) as listener:
        ready, stop = threading.Event(), threading.Event()
        thread = threading.Thread(target=serve, args=(app, listener, ready.set, stop), daemon=True)
        thread.start()
        assert ready.wait(20)
        yield listener
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def shown(trace: Trace) -> Iterator[str]:
    """The address of the page of a trace."""
    with answering(create_app(trace, TOKEN)) as listener:
        yield address(listener, "127.0.0.1", TOKEN)


@contextmanager
def viewed(*paths: Path, store: Path | None = None) -> Iterator[str]:
    """The address of the page of a recording."""
    options = Options(cache=store is not None, store=store, locked=True)
    with open_trace(paths, options) as trace, shown(trace) as found:
        yield found


@contextmanager
def compared(base: Path, new: Path) -> Iterator[str]:
    """The address of the page of a comparison."""
    options = Options(cache=False, locked=True)
    with (
        open_trace([base], options) as one,
        open_trace([new], options) as other,
        answering(create_comparison(one, other, TOKEN)) as listener,
    ):
        yield address(listener, "127.0.0.1", TOKEN)
