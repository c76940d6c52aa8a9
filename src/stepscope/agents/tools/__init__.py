"""What agents may ask, by topic; every public method is a tool, and its docstring what an agent is told of it."""

from collections.abc import Callable
from typing import Any

from stepscope.agents.opened import Recordings
from stepscope.agents.tools.changes import ChangeTools
from stepscope.agents.tools.diagnosis import FindingTools
from stepscope.agents.tools.guiding import GuideTools
from stepscope.agents.tools.overview import OverviewTools
from stepscope.agents.tools.tables import TableTools


def tools(recordings: Recordings) -> list[Callable[..., Any]]:
    """All tools over some recordings."""
    kinds = (OverviewTools, FindingTools, TableTools, ChangeTools, GuideTools)
    topics = [kind(recordings) for kind in kinds]
    return [getattr(topic, name) for topic in topics for name in vars(type(topic)) if not name.startswith("_")]
