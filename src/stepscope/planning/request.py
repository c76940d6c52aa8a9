"""What is asked of the planner: a model, a machine, and which choices are fixed; the rest is usual or searched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.planning import spelled
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule
from stepscope.planning.machine.platform import Platform

#: Tokens of a step where no batch is given: what models of this kind are trained with.
_USUAL_TOKENS: Final = 4 << 20
_USUAL_SEQ: Final = 4096
#: What has to be fixed for one layout to be meant.
_DECISIVE: Final = ("tp", "pp", "micro_batch")


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        shape: The model.
        platform: The machine.
        devices: How many.
        fixed: Fields of `Layout` that are given.
        assumed: What was not given and taken as usual, as sentences.
    """

    shape: ModelShape
    platform: Platform
    devices: int
    fixed: Mapping[str, Any]
    assumed: tuple[str, ...] = field(default=())

    @property
    def one_layout(self) -> bool:
        """Whether a single layout is to be judged rather than the best one found."""
        known = set(self.fixed)
        if {"pp", "dp"} <= known or {"tp", "dp"} <= known:
            known |= {"tp", "pp"}  # what is left follows from the number of devices
        if self.devices == 1:
            known |= {"tp", "pp", "dp"}
        return known.issuperset(_DECISIVE)


def request(shape: ModelShape, platform: Platform, devices: int, given: Mapping[str, Any]) -> Request:
    """The request; `given` has fields of `Layout` in the words of users, or their values; None counts as not given.

    Raises:
        UserError: A choice is none.
    """
    if devices < 1:
        raise UserError("--devices must be at least 1", hint="give the number of devices")
    fixed = {name: _of_its_kind(name, value) for name, value in given.items() if value is not None}
    lines: list[str] = []
    recipe = _recipes(fixed)
    _words(fixed)
    framework = fixed.get("framework")
    if "recompute" in fixed:
        fixed |= _recomputation(fixed["recompute"], framework or _framework(fixed), shape)
    if "seq" not in fixed:
        fixed["seq"] = _USUAL_SEQ
        lines.append(said("sequences of {usual_seq:,} tokens", usual_seq=_USUAL_SEQ))
    if "global_batch" not in fixed:
        fixed["global_batch"] = _batch(fixed, devices)
        tokens = fixed["global_batch"] * fixed["seq"] / 2**20
        lines.append(
            said(
                "a global batch of {global_batch:,} sequences, about {tokens:,.0f} M tokens",
                global_batch=fixed["global_batch"],
                tokens=tokens,
            )
        )
    asked = Request(shape, platform, devices, fixed, tuple(lines))
    if not recipe and _of_old(asked, framework or _framework(fixed)):
        lines += _old_habits(fixed)
    elif shape.kernels and "attention" not in fixed:
        lines.append(
            said("attention's kernels of 2022, as this family's own code uses (--attention flash for newer ones)")
        )
    return replace(asked, assumed=tuple(lines))


def _old_habits(fixed: dict[str, Any]) -> list[str]:
    """Set what was usual before attention was fused and is not given; what that is, as sentences."""
    lines: list[str] = []
    if "attention" not in fixed:
        lines.append(said("attention that writes its scores (--attention flash for the fused one)"))
    if "overlap" not in fixed:
        lines.append(said("collectives of replicas that do not overlap (--overlap)"))
    for name, value in (("attention", "unfused"), ("overlap", False)):
        fixed.setdefault(name, value)
    if lines:
        lines[-1] = said("{habit}, as GPT models of 2,048 tokens were trained on such devices", habit=lines[-1])
    return lines


def _recipes(fixed: dict[str, Any]) -> bool:
    """Whether it is one of NVIDIA's recipes, and what these turn on.

    Distributed optimizer, overlapped collectives, weights in fp8, experts that are not split, DeepEP or HybridEP.
    """
    recipe = bool(re.search(r"nemo|bridge", str(fixed.get("framework", "")).lower()))
    if recipe:
        usual = {"zero": 1, "tp_overlap": True, "fp8_weights": True, "expert_tp": 1, "grouped_dispatch": True}
        for name, value in usual.items():
            fixed.setdefault(name, value)
    return recipe


def _of_old(asked: Request, framework: Framework) -> bool:
    """Whether a single layout is asked about that looks like one of the years before fused attention.

    Megatron's own code writes scores and reduces gradients at the end unless --use-flash-attn and --overlap-grad-reduce
    are given; models with GPT-2's layers on devices of the time were trained like that. Selective recomputation there
    means scores, which fused attention does not have. Grouped queries and the choices in `_NEW` came with it or later.
    """
    shape, fixed = asked.shape, asked.fixed
    layers = not shape.gated and shape.layer_norm and not shape.experts and not shape.kernels
    layers = layers and shape.kv_heads == shape.heads
    device = any(name in asked.platform.name for name in _OLD)
    theirs = framework in (Framework.MEGATRON, Framework.DEEPSPEED)
    new = any(fixed.get(name) in values for name, values in _NEW.items()) or fixed.get("cp", 1) > 1
    return asked.one_layout and layers and device and theirs and not new and fixed["seq"] <= _OLD_SEQ


#: Choices that code of the years before fused attention did not have.
_NEW: Final[Mapping[str, tuple[Any, ...]]] = {
    "precision": ("fp8",),
    "tp_overlap": (True,),
    "recompute": (Recompute.MODULES, Recompute.EXPERTS),
    "schedule": (Schedule.ZERO_BUBBLE, Schedule.DUAL_PIPE),
}
#: Devices that models were trained on before attention was fused, and the sequences that were usual.
_OLD: Final = ("A100", "A800", "V100")
_OLD_SEQ: Final = 2048


def _of_its_kind(name: str, value: Any) -> Any:
    """A choice as a layout has it: a whole number, yes or no, or a word.

    Raises:
        UserError: It is something else.
    """
    usual = getattr(Layout(), name)
    number = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if isinstance(usual, bool):
        if isinstance(value, bool):
            return value
        raise UserError(said("{name} is {value!r}", name=name, value=value), hint="give true or false")
    if isinstance(usual, int):
        least = 0 if name in ("shards", "recomputed_layers", "zero", "expert_tp", "lora") else 1
        if number and value >= least and (name != "zero" or value <= 3):
            return int(value)
        if name != "zero" or not isinstance(value, str):
            raise UserError(
                said("{replace} is {value!r}", replace=name.replace("_", " "), value=value),
                hint=said("give a whole number of at least {least}", least=least),
            )
    elif not isinstance(value, str) and not (name == "recompute" and number):
        raise UserError(
            said("{name} is {value!r}", name=name, value=value), hint="give a word, as `stepscope plan --help` has them"
        )
    return value


def _words(fixed: dict[str, Any]) -> None:
    """Turn users' words into values."""
    if re.search(r"true|pure", str(fixed.get("precision", "")).lower()):
        fixed.setdefault("master_weights", False)  # Lightning's bf16-true, as against bf16-mixed
    readers = {
        "precision": spelled.precision,
        "framework": spelled.framework,
        "zero": spelled.zero_stage,
        "schedule": spelled.schedule,
        "attention": spelled.attention,
    }
    for name, read in readers.items():
        if isinstance(fixed.get(name), str) and not isinstance(fixed[name], Framework | Schedule):
            fixed[name] = read(fixed[name])
    for name, known in (("offload", ("none", "optimizer", "weights")), ("optimizer", tuple(_OPTIMIZERS))):
        if name in fixed:
            word = _SYNONYMS.get(str(fixed[name]).lower(), str(fixed[name]).lower())
            if word not in known:
                raise UserError(
                    said("{name} {fixed!r} is not known", name=name, fixed=fixed[name]),
                    hint=said("choose from {known}", known=", ".join(known)),
                )
            fixed[name] = word


_OPTIMIZERS: Final = ("adam", "adam8bit", "sgd", "adafactor", "muon")
_SYNONYMS: Final = {
    "adamw": "adam", "lion": "sgd", "8bit": "adam8bit", "adamw8bit": "adam8bit", "cpu": "optimizer",
    "params": "weights", "parameters": "weights", "full": "weights", "no": "none", "false": "none",
    "optimizer-state": "optimizer", "true": "optimizer", "yes": "optimizer",
}  # fmt: skip


def _recomputation(value: Any, framework: Framework, shape: ModelShape) -> dict[str, Any]:
    if isinstance(value, Recompute):
        return {"recompute": value}
    kind, layers = spelled.recompute(str(value), framework)
    if layers <= -100:
        layers = round(shape.layers * (-100 - layers) / 100)
    elif layers < 0:
        layers = shape.layers // -layers
    if kind is Recompute.LAYERS and layers >= shape.layers:
        kind, layers = Recompute.FULL, 0
    found: dict[str, Any] = {"recompute": kind, "recomputed_layers": layers}
    if "sequence parallel" in str(value).lower():
        found["sequence_parallel"] = True
    return found


def _framework(fixed: Mapping[str, Any]) -> Framework:
    """Whose rules hold where none is named: sharded weights are FSDP's, all else Megatron's."""
    if fixed.get("framework") is not None:
        return Framework(fixed["framework"])
    return Framework.FSDP if fixed.get("zero", 0) == 3 else Framework.MEGATRON


def _batch(fixed: Mapping[str, Any], devices: int) -> int:
    ways = fixed.get("tp", 1) * fixed.get("pp", 1) * fixed.get("cp", 1)
    replicas = fixed.get("dp") or max(1, devices // ways)
    step = replicas * fixed.get("micro_batch", 1)
    return int(max(step, round(_USUAL_TOKENS / fixed["seq"] / step) * step))


def completed(asked: Request, **chosen: Any) -> Layout:
    """A layout with what is fixed, what is chosen, and what follows or is usual for the rest.

    Raises:
        UserError: What is fixed contradicts itself.
    """
    values = {**chosen, **asked.fixed}
    framework = _framework(values)
    tp, pp, cp = values.get("tp"), values.get("pp"), values.get("cp", 1)
    dp = values.get("dp")
    # With replicas given, the one group that is not follows from the number of devices.
    rest = max(1, asked.devices // (cp * dp * (tp or 1) * (pp or 1))) if dp else 1
    if tp is None:
        tp = rest if pp is not None else 1
    if pp is None:
        pp = max(1, asked.devices // (cp * dp * tp)) if dp else 1
    if dp is None:
        dp = max(1, asked.devices // (tp * pp * cp))
    recompute = values.get("recompute", Recompute.NONE)
    virtual = values.get("virtual_stages", 1)
    schedule = values.get("schedule")
    if schedule is None:
        schedule = Schedule.INTERLEAVED if virtual > 1 else Schedule.ONE_F_ONE_B
    if schedule is Schedule.INTERLEAVED and virtual == 1 and pp > 1:
        virtual = 2 if asked.shape.layers >= 2 * pp else 1
    layout = Layout(
        framework=framework, tp=tp, pp=pp, dp=dp, cp=cp, virtual_stages=virtual, schedule=schedule, recompute=recompute
    )
    usual: dict[str, Any] = {
        "sequence_parallel": tp > 1
        and (recompute is not Recompute.FULL or framework in (Framework.FSDP, Framework.TORCHTITAN)),
        "attention": asked.shape.kernels or usual_attention(asked.platform, framework),
        "zero": 3 if framework in (Framework.FSDP, Framework.TORCHTITAN) and dp * cp > 1 else 0,
        "compiled": framework is not Framework.FSDP,
        "precision": usual_precision(asked.platform),
        "micro_batch": 1,
    }
    known = set(Layout.__slots__) - {"tp", "pp", "dp", "cp", "virtual_stages", "schedule", "framework", "recompute"}
    rest_values = {name: value for name, value in {**usual, **values}.items() if name in known}
    return replace(layout, **rest_values)


def usual_precision(platform: Platform) -> str:
    """What models are trained in on a device unless told otherwise."""
    return "bf16" if "bf16" in platform.peaks else "fp16"


def usual_attention(platform: Platform, framework: Framework) -> str:
    """The kernels of attention that a framework uses on a device unless told otherwise."""
    if "V100" in platform.name or "910A" in platform.name:
        return "unfused"
    newest = platform.attention3 != platform.attention
    return "flash3" if newest and framework is Framework.MEGATRON else "flash"
