"""From what is stated of a model to its whole shape; what lacks follows the family's convention, and is lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.planning.family.counts import parameters
from stepscope.planning.family.shape import LatentAttention, ModelShape

#: Families of models whose MLP has two matrices, LayerNorm and, most of them, biases.
_UNGATED: Final = (
    "gpt", "opt", "bloom", "mpt", "falcon", "neox", "pythia", "starcoder", "nemotron", "codegen", "turing", "phi",
)  # fmt: skip
_GATED: Final = (
    "llama", "mistral", "mixtral", "qwen", "gemma", "deepseek", "yi", "baichuan", "internlm", "chatglm", "palm", "olmo",
    "gpt-oss", "gpt_oss", "gpt oss", "kimi", "phi3", "phi-3", "glm", "minicpm", "dbrx", "cohere", "granite", "aquila",
)  # fmt: skip
#: Of those without a gate, families whose positions are rotary; others learn them or bias attention (ALiBi).
_ROTARY: Final = ("neox", "pythia", "gpt-j", "gptj", "falcon", "nemotron", "starcoder2", "codegen", "phi", "palm")
#: MosaicML's models: norms in 16 bits, a fused loss and Triton's attention are the defaults of their code (llm-foundry,
#: configuration_mpt.py and its YAML files of 2023).
_FOUNDRY: Final = ("mpt",)
_GATED_ACTIVATIONS: Final = ("silu", "swiglu", "swish", "geglu", "fast-swiglu")


def derive(given: Mapping[str, Any], name: str) -> ModelShape:
    """The shape.

    Args:
        given: As `keys.stated` finds it.
        name: What to call the model if it has no name.

    Raises:
        UserError: What can't be derived is not stated.
    """
    for needed in ("layers", "hidden"):
        if not given.get(needed):
            raise UserError(
                said("the model has no number of {needed}", needed=needed), hint=said('state "{needed}"', needed=needed)
            )
    lines: list[str] = []
    hidden, layers = int(given["hidden"]), int(given["layers"])
    heads = int(given.get("heads") or 0)
    if not heads:
        heads = max(1, hidden // 128)
        lines.append(said("{heads} heads: 128 wide, as is usual", heads=heads))
    elif hidden % heads and not given.get("head_dim") and not given.get("kv_lora_rank"):
        lines.append(
            said(
                "heads {value} wide, though {heads} do not divide {hidden:,}",
                value=max(1, hidden // heads),
                heads=heads,
                hidden=hidden,
            )
        )
    _refuse_more(given, heads)
    vocab = int(given.get("vocab") or 0)
    if not vocab:
        vocab = 51200
        lines.append(said("a vocabulary of 51,200"))
    gated = _gated(given, hidden, lines)
    ffn = int(given.get("ffn") or 0)
    experts = int(given.get("experts") or 0)
    if not ffn:
        ffn = _ffn(hidden, gated) if not experts else int(given.get("expert_ffn") or _ffn(hidden, gated))
        if not experts:
            lines.append(
                said("an MLP {ffn:,} wide: 8/3 of the hidden size, rounded up", ffn=ffn)
                if gated
                else said("an MLP {ffn:,} wide: 4 x hidden", ffn=ffn)
            )
    old = not gated and not experts
    expert_ffn = int(given.get("expert_ffn") or (ffn if experts else 0))
    shared = given.get("shared_ffn")
    if shared is None:
        shared = int(given.get("shared_experts") or 0) * expert_ffn
    tied = given.get("tied")
    if tied is None:
        tied = old and int(given.get("kv_heads") or heads) == heads
        lines.append(said("tied embedding and output layer") if tied else said("separate embedding and output layer"))
    positions = int(given.get("positions") or 0) if old and "positions" in given else 0
    shape = ModelShape(
        name=str(given.get("name") or name),
        layers=layers, hidden=hidden, heads=heads, kv_heads=int(given.get("kv_heads") or heads),
        head_dim=int(given.get("head_dim") or max(1, hidden // heads)),
        ffn=ffn, vocab=vocab, gated=gated, tied=bool(tied), experts=experts,
        active_experts=int(given.get("active_experts") or (2 if experts else 0)),
        expert_ffn=expert_ffn, routed_groups=_routed_groups(given), shared_ffn=int(shared),
        dense_layers=int(given.get("dense_layers") or 0),
        positions=positions, layer_norm=_layer_norm(given, old), biases=bool(given.get("biases", old)),
        dropout=bool(given.get("dropout", old and tied)), latent=_latent(given), window=int(given.get("window") or 0),
        windowed_layers=int(given.get("windowed_layers") or 0), rotary=_rotary(given, old),
        half_norms=_foundry(given) or "low_precision" in str(given.get("normalization", "")).lower(),
        fused_loss=bool(given.get("fused_loss", _foundry(given))), kernels="flash1" if _foundry(given) else "",
        assumed=(),
    )  # fmt: skip
    shape = _fitted(shape, given, lines)
    return replace(shape, assumed=tuple(lines))


def _routed_groups(given: Mapping[str, Any]) -> int:
    """Groups of experts that a token is limited to; a single group for all limits nothing."""
    groups = int(given.get("expert_groups") or 0)
    return 0 if groups == 1 else int(given.get("routed_groups") or 0)


def _refuse_more(given: Mapping[str, Any], heads: int) -> None:
    for part, whole, most in (("kv_heads", "heads", heads), ("active_experts", "experts", given.get("experts"))):
        if most and (number := int(given.get(part) or 0)) > most:
            raise UserError(
                said(
                    "the model's {part} are {number:,} of {most:,} {whole}",
                    part=part,
                    number=number,
                    most=most,
                    whole=whole,
                ),
                hint="give at most as many",
            )


def _gated(given: Mapping[str, Any], hidden: int, lines: list[str]) -> bool:
    if "gated" in given:
        return bool(given["gated"])
    if given.get("activation"):
        plain = given["activation"].lower()
        if plain in _GATED_ACTIVATIONS or "glu" in plain:
            return True
    for text in (str(given.get("family", "")).lower(), str(given.get("name", "")).lower()):
        if any(one in text for one in _GATED):
            return True
        if any(one in text for one in _UNGATED):
            return False
    ffn, grouped = int(given.get("ffn") or 0), given.get("kv_heads") not in (None, given.get("heads"))
    gated = (ffn != 4 * hidden) if ffn else grouped or bool(given.get("experts"))
    lines.append(said("an MLP with a gate (SwiGLU)") if gated else said("an MLP without a gate"))
    return gated


def _ffn(hidden: int, gated: bool) -> int:
    """Llama's rule for a gated MLP (8/3 of the hidden size, up to a multiple of 256), else four times the width."""
    return -(-(8 * hidden) // (3 * 256)) * 256 if gated else 4 * hidden


def _layer_norm(given: Mapping[str, Any], old: bool) -> bool:
    lines = str(given.get("normalization", "")).lower()
    return "rms" not in lines if lines else old


def _rotary(given: Mapping[str, Any], old: bool) -> bool:
    if "rotary" in given:
        return bool(given["rotary"])
    return not old or any(one in _named(given) for one in _ROTARY)


def _foundry(given: Mapping[str, Any]) -> bool:
    return any(part in _FOUNDRY for part in re.split(r"[^a-z]+", _named(given)))


def _named(given: Mapping[str, Any]) -> str:
    return f"{given.get('family', '')} {given.get('name', '')}".lower()


def _latent(given: Mapping[str, Any]) -> LatentAttention | None:
    if not given.get("kv_lora_rank"):
        return None
    return LatentAttention(
        query_rank=int(given.get("q_lora_rank") or 0),
        kv_rank=int(given["kv_lora_rank"]),
        nope=int(given.get("qk_nope_head_dim") or 128),
        rope=int(given.get("qk_rope_head_dim") or 64),
        value=int(given.get("v_head_dim") or 128),
    )


def _fitted(shape: ModelShape, given: Mapping[str, Any], lines: list[str]) -> ModelShape:
    """The shape whose gate and width of the MLP, where not stated, come closest to a stated number of parameters."""
    wanted = given.get("parameters")
    if not wanted or ("gated" in given and "ffn" in given) or shape.experts:
        return shape

    def off(one: ModelShape) -> float:
        return abs(parameters(one).total / float(wanted) - 1)

    options = [shape]
    if "gated" not in given:
        other = not shape.gated
        options.append(replace(shape, gated=other, ffn=shape.ffn if "ffn" in given else _ffn(shape.hidden, other)))
    best = min(options, key=off)
    # The convention holds unless the other choice comes clearly closer.
    if best is not shape and off(shape) - off(best) > 0.03:
        a_gate = said("a gate in the MLP, from the number of parameters")
        lines.append(a_gate if best.gated else said("no gate in the MLP, from the number of parameters"))
        return best
    return shape
