"""Runs tasks in this process, so that a series of small jobs does not start workers for each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from stepscope.ingest.workers import Workers


class Here(Executor):
    """Runs each task at once."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """The result, or the error, in a future that is done."""
        done = Future[Any]()
        try:
            done.set_result(function(*args, **named))
        except Exception as error:
            done.set_exception(error)
        return done


def here(*_: int) -> Workers:
    """Workers that are this process, whatever the tasks."""
    return Workers(1, Here)
