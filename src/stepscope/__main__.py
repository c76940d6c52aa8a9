"""``python -m stepscope``."""

from stepscope.cli import entry

entry()
