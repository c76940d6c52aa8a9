"""Parameters and FLOPs of a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from stepscope.planning.family.shape import ModelShape


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many parameters there are, by what they belong to.

    Attributes:
        attention: Of one layer's attention, with its projections and norms.
        dense_mlp: Of one dense layer's MLP.
        experts: Of one layer's routed experts, all of them.
        active_experts: Of those that one token uses.
        shared: Of one layer's shared experts and router.
        embedding: Of the embedding, positions included.
        head: Of the output layer; 0 if it shares the embedding's.
        total: Of the model.
        active: That a token is multiplied with, the output layer included and the embedding not.
    """

    attention: int
    dense_mlp: int
    experts: int
    active_experts: int
    shared: int
    embedding: int
    head: int
    total: int
    active: int


@lru_cache(maxsize=256)
def parameters(shape: ModelShape) -> Parameters:
    """Count a model's parameters."""
    norm = shape.hidden * (2 if shape.layer_norm else 1)
    attention = _attention(shape) + 2 * norm
    dense = mlp(shape, shape.ffn)
    experts = shape.experts * mlp(shape, shape.expert_ffn) if shape.experts else 0
    active_experts = shape.active_experts * mlp(shape, shape.expert_ffn) if shape.experts else 0
    shared = (mlp(shape, shape.shared_ffn) + shape.hidden * shape.experts) if shape.experts else 0
    embedding = shape.hidden * (shape.vocab + shape.positions)
    head = 0 if shape.tied else shape.hidden * shape.vocab
    dense_layers = shape.layers - shape.moe_layers
    common = shape.layers * attention + dense_layers * dense + shape.moe_layers * shared
    return Parameters(
        attention=attention,
        dense_mlp=dense,
        experts=experts,
        active_experts=active_experts,
        shared=shared,
        embedding=embedding,
        head=head,
        total=common + shape.moe_layers * experts + embedding + head + norm,
        active=common + shape.moe_layers * active_experts + shape.hidden * shape.vocab,
    )


def mlp(shape: ModelShape, width: int) -> int:
    """Parameters of an MLP of an inner width."""
    matrices = 3 if shape.gated else 2
    biases = (matrices - 1) * width + shape.hidden if shape.biases and width else 0
    return matrices * shape.hidden * width + biases


def _attention(shape: ModelShape) -> int:
    if shape.latent is None:
        wide = shape.query_width + 2 * shape.kv_width
        biases = wide + shape.hidden if shape.biases else 0
        return shape.hidden * (wide + shape.query_width) + biases
    one = shape.latent
    if one.query_rank:
        query = one.query_rank * (shape.hidden + shape.query_width + 1)
    else:
        query = shape.hidden * shape.query_width
    joint = shape.hidden * (one.kv_rank + one.rope) + one.kv_rank * shape.heads * (one.nope + one.value)
    return query + joint + shape.value_width * shape.hidden


def flops_per_token(shape: ModelShape, seq: int, frozen: bool = False) -> float:
    """Model FLOPs per token of a step, forward and backward: 6 per active parameter, and attention.

    Attention counts every pair of tokens, also those that a causal mask leaves out, as in equation 3 of Narayanan et
    al. 2021 (arXiv 2104.04473) without recomputation, so that figures can be compared with published ones. Frozen
    parameters have no gradients of their own: 4.
    """
    counts = parameters(shape)
    scores = shape.query_width + shape.value_width
    return (4.0 if frozen else 6.0) * counts.active + 6.0 * shape.layers * scores * shape.mean_context(seq)
