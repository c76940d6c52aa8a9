"""Keep copies of files that the run is about to overwrite outside of its scratch folder, and note those it makes there.

The launcher puts the copies back and removes what was made when the run is over. What is written by code that Python
does not see, such as another program or most extension modules, is not known here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any, Final

_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_TRUNC | os.O_APPEND | os.O_CREAT
#: Variables that name caches, which programs share on purpose.
_CACHES: Final = (
    "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR",
)  # fmt: skip
_SYSTEM: Final = ("/proc", "/sys", "/run")
#: Parts of paths of caches that no variable names.
_PARTS: Final = ("/dev/shm/torch_", "__pycache__", "/torchinductor_", "/.cache/", "/.triton/", "/.nv/", "/.config/")
#: Files of a folder that is moved away, of which copies are kept.
_MOST: Final = 1000
#: What is kept, a JSON object per line; and what was made.
LIST: Final = "kept.jsonl"


class FileGuard:
    """Looks at what this process opens, renames and removes.

    Args:
        scratch: Folder that may be written.
        kept: Folder for the copies.
        since_ns: When the run started, in ns since the epoch: files that changed later are its own.
    """

    def __init__(self, scratch: str, kept: str, since_ns: int) -> None:
        caches = [os.environ[name] for name in _CACHES if os.environ.get(name)]
        self._free = tuple(f"{os.path.realpath(one)}{os.sep}" for one in (scratch, kept, *_SYSTEM, *caches))
        self._kept = Path(kept)
        self._since = since_ns
        self._busy = threading.local()

    def install(self) -> None:
        """Look from here on; there is no way to stop."""
        sys.addaudithook(self._audit)

    def before_writing(self, path: Any) -> None:
        """A file is about to be written by code that Python does not see.

        Raises:
            OSError: No copy of it can be kept.
        """
        if isinstance(path, (str, bytes, os.PathLike)):
            self._guarded(os.fsdecode(path))

    def _audit(self, event: str, args: Any) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITES and isinstance(path, (str, bytes)):
                self._guarded(os.fsdecode(path))
        elif event == "os.rename":
            self._guarded(_at(args[0], args[2]), gone=True)
            self._guarded(_at(args[1], args[3]))
        elif event == "os.remove":
            self._guarded(_at(args[0], args[1]), gone=True)
        elif event == "os.truncate" and isinstance(args[0], (str, bytes)):
            self._guarded(os.fsdecode(args[0]))
        elif event == "os.mkdir":
            self._guarded(_at(args[0], args[2]), folder=True)

    def _guarded(self, path: str, *, gone: bool = False, folder: bool = False) -> None:
        if getattr(self._busy, "now", False) or not path:
            return
        self._busy.now = True
        try:
            # A link that is removed or renamed is not what it leads to.
            real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120
            real = real if gone else os.path.realpath(path)
            if not real.startswith(self._free) and not any(part in real for part in _PARTS):
                self._look(real, folder=folder)
        finally:
            self._busy.now = False

    def _look(self, real: str, *, folder: bool) -> None:
        try:
            status = os.lstat(real)
        except OSError:
            self._note({"made": real, "folder": folder})
            return
        if folder or status.st_ctime_ns >= self._since:
            return
        if Path(real).is_dir() and not Path(real).is_symlink():
            below = [one for one in Path(real).rglob("*") if one.is_file()]
            if len(below) > _MOST:
                raise PermissionError(f"stepscope try: {real} has too many files to keep copies of")
            for one in below:
                self._keep(str(one))
        elif Path(real).is_file() or Path(real).is_symlink():
            self._keep(real)

    def _keep(self, real: str) -> None:
        name = hashlib.sha1(real.encode("utf-8", "surrogateescape")).hexdigest()
        copy = self._kept / name
        try:
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return
        if Path(real).is_symlink():
            copy.unlink()
        shutil.copy2(real, copy, follow_symlinks=False)
        self._note({"kept": real, "copy": name})

    def _note(self, what: dict[str, Any]) -> None:
        line = (json.dumps(what) + "\n").encode()
        out = os.open(self._kept / LIST, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        try:
            os.write(out, line)
        finally:
            os.close(out)


def _at(path: Any, folder: Any) -> str:
    """A path, which may be relative to an open folder."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return ""
    text = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0:
        return str(Path(os.path.realpath(f"/proc/self/fd/{folder}"), text))
    return text


def see_savers(guard: FileGuard) -> None:
    """See torch's and safetensors' writers, which write in C++ and Rust."""
    import functools

    import torch

    from stepscope.record.job.imports import wait_for

    plain = torch.save

    @functools.wraps(plain)
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        guard.before_writing(f)
        return plain(obj, f, *args, **kwargs)

    torch.save = save

    def safetensors() -> None:
        module: Any = sys.modules["safetensors"]
        write = module.serialize_file

        def serialize_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
            guard.before_writing(filename)
            return write(tensors, filename, *args, **kwargs)

        module.serialize_file = serialize_file

    wait_for("safetensors", safetensors)
