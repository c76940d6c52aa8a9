"""The command line: one file per command, which imports what it needs when it runs."""

from stepscope.cli.entry import entry

__all__ = ["entry"]
