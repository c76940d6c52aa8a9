"""A plan as settings of training frameworks, ready to paste."""

from __future__ import annotations

from typing import Final

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework
from stepscope.planning.result import JudgedPlan
from stepscope.planning.settings import deepspeed, fsdp2, megatron, torchtitan

#: Frameworks whose settings are written.
NAMES: Final = ("megatron", "mindspeed", "torchtitan", "fsdp2", "deepspeed")


def settings(shape: ModelShape, plan: JudgedPlan) -> dict[str, str]:
    """The settings by framework; those that can't express the plan are left out."""
    layout = plan.layout
    found = {"megatron": megatron.arguments(shape, layout), "mindspeed": megatron.mindspeed(shape, layout)}
    if layout.ep == 1:
        found["torchtitan"] = torchtitan.toml(layout)
    if layout.pp == 1 and layout.ep == 1:
        found["fsdp2"] = fsdp2.code(layout)
        if layout.tp == 1 and layout.cp == 1:
            found["deepspeed"] = deepspeed.document(layout)
    own = {Framework.MEGATRON: "megatron", Framework.FSDP: "fsdp2", Framework.TORCHTITAN: "torchtitan",
           Framework.DEEPSPEED: "deepspeed"}[layout.framework]  # fmt: skip
    return {name: found[name] for name in sorted(found, key=lambda name: name != own)}
