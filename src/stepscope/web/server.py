"""Serve an application on this machine until it is interrupted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp

from stepscope.language import said
from stepscope.model.errors import UserError


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        UserError: The address is not one of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(
            said("can't listen on {host}, port {port} ({why})", host=host, port=port, why=why),
            hint="give --port 0 for a free port",
        ) from error
    found.listen(128)
    return found


def address(listener: socket.socket, name: str, token: str | None) -> str:
    """What to open in a browser."""
    port = listener.getsockname()[1]
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def names(host: str) -> list[str]:
    """Names under which others reach an address to listen on, the one to print first."""
    if host not in ("0.0.0.0", "::"):
        return [host]
    own = socket.gethostname()
    return [own, *({socket.getfqdn()} - {own})]


def serve(
    app: ASGIApp,
    listener: socket.socket,
    ready: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Answer requests until the process is interrupted.

    Args:
        app: What answers.
        listener: Where it listens.
        ready: Called once requests are answered.
        stop: Set by another thread, it ends the serving.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def on_tick(self, counter: int) -> bool:
            return await super().on_tick(counter) or (stop is not None and stop.is_set())

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave signals to the command line, which ends the process at once."""
            yield

    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, lifespan="off")
    Server(config).run(sockets=[listener])
