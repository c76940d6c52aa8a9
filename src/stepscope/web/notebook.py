"""The page in a frame of a notebook, served from a thread of the notebook's process."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final

from stepscope.web.app import create_app
from stepscope.web.security import LOCAL, new_token
from stepscope.web.server import listening, serve

if TYPE_CHECKING:
    from stepscope.model.trace import Trace

#: Names where the browser finds a port of this process, with `{port}` for its number.
VARIABLE: Final = "STEPSCOPE_VIEW_ADDRESS"
#: Prefix of a user's server, below which jupyter-server-proxy passes ports on.
_HUB: Final = "JUPYTERHUB_SERVICE_PREFIX"
_COLAB: Final = "COLAB_RELEASE_TAG"
_HERE: Final = "http://127.0.0.1:{port}/"
#: Pages that may show this one in a frame: notebooks on this machine, and those of VS Code and Colab.
_NOTEBOOKS: Final = (
    "http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "https://127.0.0.1:*",
    "vscode-webview:", "vscode-file:", "https://*.vscode-cdn.net",
    "https://colab.research.google.com", "https://*.googleusercontent.com",
)  # fmt: skip
#: How long the server may take to start, s.
_PATIENCE_SECONDS: Final = 30.0
_FRAME: Final = '<iframe {} title="stepscope" width="100%" height="{}" style="border: 0"></iframe>'
#: Colab passes a port on under an address that only its own script knows.
_COLAB_SCRIPT: Final = """<script>
google.colab.kernel.proxyPort({port}, {{cache: true}}).then((address) => {{
  document.getElementById("{id}").src = new URL("?token={token}", address);
}});
</script>"""


class EmbeddedPage:
    """The page of a trace, which a notebook shows in a frame.

    Attributes:
        address: Where the browser finds it, with the token that it needs.
    """

    def __init__(self, trace: Trace, height: int, port: int, where: str | None) -> None:
        """Serve a trace until it or this is closed.

        Args:
            trace: The trace.
            height: Height of the frame in pixels.
            port: Port to listen on; 0 takes a free one.
            where: Address with `{port}`; None for Colab's script.

        Raises:
            UserError: The trace is closed, or the port is taken.
        """
        self._height, self._colab = int(height), where is None
        self._stop = threading.Event()
        self._guard = threading.Lock()
        token = new_token()
        self._token = token
        # In a frame anyone may ask for SQL who has the token; the notebook's own trace answers with its user's rights.
        locked = trace.locked()
        try:
            self._listener = listening("127.0.0.1", port)
        except BaseException:
            locked.close()
            raise
        self._served, self._trace = locked, trace
        self.port: int = self._listener.getsockname()[1]
        self.address = f"{(where or _HERE).replace('{port}', str(self.port))}?token={token}"
        # A proxy may pass its own host name on; without the token nobody is answered.
        hosts = LOCAL if where == _HERE else None
        app = create_app(locked, token, hosts=hosts, ancestors=_NOTEBOOKS)
        ready = threading.Event()
        self._thread = threading.Thread(
            target=serve, args=(app, self._listener, ready.set, self._stop), name="stepscope-view", daemon=True
        )
        self._thread.start()
        ready.wait(_PATIENCE_SECONDS)
        trace.job.when_closed(self.close)
        if trace is not trace.job:
            trace.when_closed(self.close)

    def close(self) -> None:
        """End the server."""
        with self._guard:
            if self._stop.is_set():
                return
            self._stop.set()
        self._served.close()  # what is being answered ends, so that the server need not wait for it
        self._thread.join(_PATIENCE_SECONDS)
        self._listener.close()

    @property
    def closed(self) -> bool:
        """Whether it is served no longer."""
        return self._stop.is_set()

    def __repr__(self) -> str:
        return f"<stepscope page: {'closed' if self.closed else self.address}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return f"<p>{escape(repr(self))}</p>"
        if not self._colab:
            return _FRAME.format(f'src="{escape(self.address)}"', self._height)
        name = f"stepscope-{self.port}"
        script = _COLAB_SCRIPT.format(port=self.port, id=name, token=self._token)
        return _FRAME.format(f'id="{name}"', self._height) + script


def embedded(trace: Trace, height: int, port: int, address: str | None) -> EmbeddedPage:
    """Serve a trace for a frame; see `stepscope.api.Trace.view`."""
    return EmbeddedPage(trace, height, port, address if address is not None else place(os.environ))


def place(environ: Mapping[str, str]) -> str | None:
    """Where a browser finds a port of this process, as its environment says; None for Colab."""
    if given := environ.get(VARIABLE):
        return given
    if environ.get(_COLAB):
        return None
    if prefix := environ.get(_HUB):
        return f"{prefix.rstrip('/')}/proxy/{{port}}/"
    return _HERE
