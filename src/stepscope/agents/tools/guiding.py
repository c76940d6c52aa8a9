"""The way from a symptom, or from a recording's numbers, to a setting; and layouts of a job that has yet to run."""

from __future__ import annotations

from typing import Any

from stepscope.agents.bounds import short
from stepscope.agents.opened import Recordings
from stepscope.guide import text
from stepscope.guide.finding_place import place
from stepscope.guide.tree import BY_KEY
from stepscope.guide.walk import walk
from stepscope.language import said, speaking
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.planning.api import plan as planned
from stepscope.planning.api import refuse_unknown
from stepscope.planning.document import document
from stepscope.planning.family.named import preset
from stepscope.planning.family.presets import PRESETS

#: Neighbouring choices of the best plan that are given.
_NEIGHBOURS = 8


class GuideTools:
    """Tools that need no finding to begin with."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    def guide(self, symptom: str = "", recording: str = "") -> Any:
        """From a symptom to the commands that find its cause and the settings that mend it; a recording is walked.

        Args:
            symptom: In words, for example "GPU at 40 %" or "out of memory"; or the name of a place.
            recording: Name from `recordings`: its numbers decide at each fork instead, and say why.
        """
        if recording:
            opened = self._recordings.get(recording)
            report = opened.report
            with speaking("en"):
                way = walk(report.rows("step_budget"), report.rows("idle_causes"), report.findings)
                return {"place": way.end.key, "text": text.walked(way, opened.name)}
        node = place(symptom) if symptom else BY_KEY["start"]
        with speaking("en"):
            return {"place": node.key, "text": text.page(node), "places": list(BY_KEY)}

    def plan(
        self, model: str | dict[str, Any], devices: int, device: str, top: int = 3,
        choices: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """How to lay out the training of a transformer over devices: predicted step and memory by part, best first.

        Args:
            model: A preset's name such as "llama3-70b", or figures: {"layers", "hidden", "heads", "ffn", "vocab", ...}.
            devices: Number of devices.
            device: Their kind, such as "h100" or "910b2".
            top: Plans to give, at most 5.
            choices: What is fixed: tp, pp, dp, micro_batch, global_batch, seq, recompute, zero, framework, precision.
        """
        if isinstance(model, str) and preset(model) is None:
            raise UserError(
                said("no preset is called {model!r}", model=model),
                hint=said("{choose}, or give figures", choose=choose(model, sorted(PRESETS))),
            )
        if not 1 <= top <= 5:
            raise UserError("top is 1 to 5", hint="give a smaller number")
        fixed = dict(choices or {})
        refuse_unknown(fixed)
        # By its name within figures, so that no file of that name is read.
        shape = {"name": model} if isinstance(model, str) else model
        found = document(planned(shape, devices=devices, device=device, top=top, **fixed))
        found["neighbours"] = found["neighbours"][:_NEIGHBOURS]
        found["settings"] = {name: short(value) for name, value in found["settings"].items()}
        return found
