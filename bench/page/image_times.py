"""Processor time that each image takes on the page's thread: what other work on the machine hardly changes."""

from __future__ import annotations

from typing import Any, Final

#: What the browser calls the making of one image, from scripts to what is handed on to be shown.
_IMAGE: Final = "ProxyMain::BeginMainFrame"


def measured(running: Any, page: Any, script: str) -> tuple[Any, list[float]]:
    """The value of a script, and the processor time of each image that was made while it ran, ms.

    Args:
        running: The browser.
        page: The page in it; no other may be moving.
        script: A JavaScript expression, awaited.
    """
    config = {"includedCategories": ["cc"], "excludedCategories": ["*"]}
    # Of an earlier one nothing is counted again.
    running.events[:] = [event for event in running.events if not str(event.get("method")).startswith("Tracing.")]
    running.send("Tracing.start", traceConfig=config, transferMode="ReportEvents")
    value = page.run(script)
    running.send("Tracing.end")
    running.wait_for("Tracing.tracingComplete")
    collected = [event for event in running.events if event.get("method") == "Tracing.dataCollected"]
    events = (event for part in collected for event in part["params"]["value"])
    return value, [event["tdur"] / 1e3 for event in events if event["name"] == _IMAGE and "tdur" in event]
