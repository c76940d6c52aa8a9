from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from stepscope.record.job.identity import is_launcher


@pytest.mark.parametrize(
    ("command", "module", "launches"),
    [
        ("/venv/bin/torchrun", "", True),
        ("/venv/bin/accelerate", "", True),
        ("/venv/bin/deepspeed", "", True),
        ("/venv/site-packages/deepspeed/launcher/launch.py", "deepspeed.launcher.launch", True),
        ("/venv/site-packages/torch/distributed/run.py", "torch.distributed.run", True),
        ("/venv/site-packages/accelerate/commands/launch.py", "accelerate.commands.launch", True),
        ("train.py", "", False),
        ("/srv/deepspeed/train.py", "", False),
        ("/srv/pkg/train.py", "pkg.train", False),
    ],
)
def test_launchers_are_no_ranks(monkeypatch: pytest.MonkeyPatch, command: str, module: str, launches: bool) -> None:
    main = ModuleType("__main__")
    main.__spec__ = ModuleSpec(module, None) if module else None
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(sys, "argv", [command, "--lr", "1"])
    assert is_launcher() is launches
