"""From what users write for a choice to the choice: precision, recomputation, framework, schedule, ZeRO's stage."""

from __future__ import annotations

import re

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.planning.layout import Framework, Recompute, Schedule


def precision(text: str) -> str:
    """`bf16`, `fp16`, `fp8` or `fp32`, from `FP8-CS`, `float8 linear`, `bf16/fp16 mixed`, `mixed`, ...

    Raises:
        UserError: It is none of these.
    """
    plain = text.strip().lower()
    if re.search(r"fp8|float8|mxfp8|e4m3|8[- ]bit", plain):
        return "fp8"
    if re.search(r"bf16|bfloat16|mixed|amp", plain):
        return "bf16"
    if re.search(r"fp16|float16|half", plain):
        return "fp16"
    if re.search(r"fp32|float32|tf32|full|single", plain):
        return "fp32"
    raise UserError(said("precision {text!r} is not known", text=text), hint="choose from bf16, fp16, fp8 and fp32")


def recompute(text: str, framework: Framework) -> tuple[Recompute, int]:
    """What is recomputed, and how many layers where it is a number.

    Args:
        text: `none`, `selective`, `full`, `selective op`, `selective layer`, `12` (layers), `50%`, `true`, ...
        framework: Selective recomputation is of attention's scores with Megatron and DeepSpeed, of chosen operators
            with FSDP.

    Returns:
        The kind, and the layers: -2 for every second layer, a negative percentage below -100 for a share of all.

    Raises:
        UserError: It is none of these.
    """
    plain = text.strip().lower()
    if plain in ("none", "no", "false", "off", "0", ""):
        return Recompute.NONE, 0
    if re.fullmatch(r"\d+( layers?)?", plain):
        return Recompute.LAYERS, int(plain.split()[0])
    if found := re.fullmatch(r"(\d+) ?%", plain):
        return Recompute.LAYERS, -100 - min(100, int(found[1]))
    if re.search(r"\bmoe\b|\bexperts?\b", plain):
        return Recompute.EXPERTS, 0
    if re.search(r"modules?|norms?|mla_up|moe_act|activation func", plain):
        return Recompute.MODULES, 0
    if re.search(r"selective[ -]layer|every (second|other)", plain):
        return Recompute.LAYERS, -2
    if re.search(r"\bop(s|erators?)?\b", plain):
        return Recompute.OPERATORS, 0
    if re.search(r"selective|attention|core", plain):
        fsdp = framework in (Framework.FSDP, Framework.TORCHTITAN)
        return (Recompute.OPERATORS if fsdp else Recompute.SELECTIVE), 0
    if re.search(r"full|all|true|yes|on|every|layer|block", plain):
        return Recompute.FULL, 0
    raise UserError(
        said("recomputation {text!r} is not known", text=text),
        hint="choose from none, selective, modules, moe, full, or a number of layers",
    )


def framework(text: str) -> Framework:
    """The framework, from `Megatron-LM`, `NeMo/Megatron Core`, `torchtitan (FSDP2)`, `MindSpeed`, ...

    Raises:
        UserError: It is none that is known.
    """
    plain = text.strip().lower()
    if re.search(r"titan", plain):
        return Framework.TORCHTITAN
    if re.search(r"fsdp|composer|foundry|mosaic|accelerate|hugging|lightning|pytorch|ddp", plain):
        return Framework.FSDP
    if re.search(r"mega.*deep ?speed|deep ?speed.*mega|gpt-?neox", plain):
        return Framework.DEEPSPEED
    if re.search(r"mega|nemo|mind|bridge|meta|colossal", plain):
        return Framework.MEGATRON
    if re.search(r"deep ?speed|zero", plain):
        return Framework.DEEPSPEED
    raise UserError(
        said("framework {text!r} is not known", text=text),
        hint="choose from megatron, mindspeed, fsdp, torchtitan and deepspeed",
    )


def zero_stage(text: str) -> int:
    """ZeRO's stage, from `0` to `3`, `fsdp`, `ddp`, `distributed-optimizer`, `hybrid`, ...

    Raises:
        UserError: It is none of these.
    """
    plain = text.strip().lower().removeprefix("zero").strip("-_ ")
    if plain in ("0", "1", "2", "3"):
        return int(plain)
    if plain in ("fsdp", "fsdp2", "full", "full_shard", "full-shard", "hsdp", "hybrid"):
        return 3
    if plain in ("shard_grad_op", "shard-grad-op", "grad"):
        return 2
    if plain in ("distributed-optimizer", "dist-opt", "optimizer", "distopt"):
        return 1
    if plain in ("ddp", "none", "no", "off"):
        return 0
    raise UserError(said("ZeRO stage {text!r} is not known", text=text), hint="choose from 0, 1, 2, 3 and fsdp")


def schedule(text: str) -> Schedule:
    """The pipeline's schedule, from `1f1b`, `interleaved`, `gpipe`, `zero-bubble`, `zb-h1`, `dualpipe`, ...

    Raises:
        UserError: It is none of these.
    """
    plain = re.sub(r"[\s_-]+", "", text.strip().lower())
    if "dual" in plain:
        return Schedule.DUAL_PIPE
    if plain.startswith("zb") or "zerobubble" in plain:
        return Schedule.ZERO_BUBBLE
    if "gpipe" in plain or plain == "afab":
        return Schedule.GPIPE
    if "interleaved" in plain or "virtual" in plain:
        return Schedule.INTERLEAVED
    if plain in ("1f1b", "pipedream", "pipedreamflush", "none"):
        return Schedule.ONE_F_ONE_B
    raise UserError(
        said("schedule {text!r} is not known", text=text),
        hint="choose from 1f1b, interleaved, gpipe, zero-bubble and dualpipe",
    )


def attention(text: str) -> str:
    """`flash`, `flash3`, `flash1` or `unfused`, from `fa2`, `sdpa`, `cudnn`, `eager`, `math`, `none`, ...

    Raises:
        UserError: It is none of these.
    """
    plain = text.strip().lower()
    if re.search(r"flash.?attn?.?1$|flash1|fa1|triton|xformers|mem.?eff", plain):
        return "flash1"
    if re.search(r"3|cudnn|transformer.?engine|\bte\b", plain):
        return "flash3"
    if re.search(r"unfused|eager|math|none|no|off|false|torch|naive|local|megatron|softmax", plain):
        return "unfused"
    if re.search(r"flash|fa|sdpa|fused|yes|true|on", plain):
        return "flash"
    raise UserError(
        said("attention {text!r} is not known", text=text), hint="choose from flash, flash3, flash1 and unfused"
    )
