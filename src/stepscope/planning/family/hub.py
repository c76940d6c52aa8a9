"""What configurations of Hugging Face leave to the class of their family: defaults, widths, periods of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError

#: Families with layers that are no attention: state spaces, recurrence, convolutions; alone or between attention.
_OTHER_LAYERS: Final = (
    "mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv5", "jamba", "zamba", "zamba2", "bamba", "nemotron_h", "falcon_h1",
    "granitemoehybrid", "qwen3_next", "recurrent_gemma", "xlstm", "retnet", "lfm2", "minimax", "hyena", "resnet",
    "convnext", "convnextv2", "swin", "swinv2",
)  # fmt: skip
#: Families of an encoder and a decoder.
_TWO_STACKS: Final = (
    "t5", "mt5", "umt5", "longt5", "bart", "mbart", "pegasus", "marian", "whisper", "m2m_100", "nllb-moe", "led",
    "switch_transformers", "encoder-decoder", "speech_to_text", "seamless_m4t", "blenderbot", "prophetnet", "fsmt",
)  # fmt: skip
#: Families whose class shares embedding and output layer unless the file says otherwise.
_TIED: Final = ("gemma", "gemma2", "gemma3", "gemma3_text", "falcon", "cohere", "cohere2", "starcoder2", "gpt_bigcode",
                "bloom", "opt", "mpt", "gpt2", "bert", "roberta", "deberta-v2", "electra", "distilbert")  # fmt: skip
#: Families whose class keeps them apart, though their MLP has no gate.
_APART: Final = ("gpt_neox", "gptj", "phi", "nemotron", "persimmon", "codegen")
_ONE_KEY: Final = ("falcon", "refinedweb", "refinedwebmodel", "gpt_bigcode")
_VISION: Final = ("vit", "deit", "beit", "dinov2", "dinov2_with_registers", "siglip_vision_model", "clip_vision_model")


def completed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what its family's class adds to it.

    Raises:
        UserError: The family has layers that the planner does not know.
    """
    found = dict(document)
    kind = str(document.get("model_type") or "").lower()
    _refuse(kind, document)
    if "tie_word_embeddings" not in found and kind in (*_TIED, *_APART):
        found["tie_word_embeddings"] = kind in _TIED
    shared = kind in _ONE_KEY and found.get("multi_query", True)
    # All queries share one head of keys and values, unless the newer architecture states how many there are.
    if shared and not found.get("new_decoder_architecture"):
        found["num_key_value_heads"] = 1
    if kind in _VISION and found.get("patch_size"):
        found |= _patches(found)
    if found.get("interleave_moe_layer_step"):
        found |= _interleaved(found)
    dense = _dense_layers(found)
    if dense is not None and "first_k_dense_replace" not in found:
        found["first_k_dense_replace"] = dense
    return found


def _refuse(kind: str, document: Mapping[str, Any]) -> None:
    hint = said("plans are of transformers of one stack with attention in every layer")
    if kind in _OTHER_LAYERS or "ssm_cfg" in document:
        raise UserError(said("{kind} has layers other than attention and MLP", kind=kind or "the model"), hint=hint)
    if kind in _TWO_STACKS or document.get("is_encoder_decoder") is True:
        raise UserError(said("{kind} has an encoder and a decoder", kind=kind or "the model"), hint=hint)


def _patches(document: Mapping[str, Any]) -> dict[str, Any]:
    """An image's patches as tokens: their projection is as large as an embedding of their colours' values."""
    try:
        patch, image = int(document["patch_size"]), int(document.get("image_size") or 224)
        colours = int(document.get("num_channels") or 3)
    except (TypeError, ValueError) as error:
        raise UserError(
            "the sizes of image and patches are no numbers", hint="give image_size and patch_size"
        ) from error
    number = (image // max(patch, 1)) ** 2 + 1
    return {"vocab_size": colours * patch * patch, "max_position_embeddings": number, "tie_word_embeddings": True}


def _interleaved(document: Mapping[str, Any]) -> dict[str, Any]:
    """Llama 4: every so many layers have experts of `intermediate_size`, one of them shared; others a wider MLP."""
    found: dict[str, Any] = {"moe_intermediate_size": document.get("intermediate_size"), "num_shared_experts": 1}
    if document.get("intermediate_size_mlp"):
        found["intermediate_size"] = document["intermediate_size_mlp"]
    return found


def _dense_layers(document: Mapping[str, Any]) -> int | None:
    """Layers with an MLP instead of experts, by period or by list; None where neither is stated."""
    layers = document.get("num_hidden_layers")
    if not isinstance(layers, int) or isinstance(layers, bool):
        return None
    alone = document.get("mlp_only_layers")
    listed = set(alone) if isinstance(alone, list) and all(isinstance(one, int) for one in alone) else set()
    period = document.get("decoder_sparse_step") or document.get("interleave_moe_layer_step")
    if isinstance(period, int) and not isinstance(period, bool) and period > 0:
        return sum((one + 1) % period != 0 or one in listed for one in range(layers))
    frequent = document.get("moe_layer_freq")
    if isinstance(frequent, list):
        return sum(not one for one in frequent)
    return len(listed) if listed else None
