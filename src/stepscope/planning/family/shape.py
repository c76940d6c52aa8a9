"""The shape of a transformer, as far as memory and time depend on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries and keys pass through low ranks.

    Attributes:
        query_rank: Rank of the query's compression; 0 for none.
        kv_rank: Rank of the joint compression of keys and values.
        nope: Width per head of queries and keys without position.
        rope: Width per head of the part with rotary position; keys share it among heads.
        value: Width per head of values.
    """

    query_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder-only transformer.

    Attributes:
        name: What reports call it.
        layers: Transformer layers.
        hidden: Width of the residual stream.
        heads: Query heads.
        kv_heads: Heads of keys and values; fewer than `heads` with grouped queries.
        head_dim: Width of a head.
        ffn: Inner width of a dense layer's MLP.
        vocab: Entries of the vocabulary as given, without padding.
        gated: Whether the MLP has a gate (SwiGLU and its kin: three matrices instead of two).
        tied: Whether embedding and output layer share their weights.
        experts: Routed experts of a mixture-of-experts layer; 0 for a dense model.
        active_experts: Experts that a token is sent to.
        expert_ffn: Inner width of a routed expert.
        routed_groups: Groups of experts, each on one server, that a token is limited to; 0 for no limit.
        shared_ffn: Inner width of the experts that every token passes, together.
        dense_layers: Layers at the start, or elsewhere, that have an MLP instead of experts.
        positions: Learned position embeddings; 0 for rotary or none.
        layer_norm: LayerNorm with weight and bias rather than RMSNorm.
        biases: Whether linear layers have biases.
        dropout: Whether it is trained with dropout, whose masks take memory.
        latent: Multi-head latent attention, if it has that.
        window: Tokens that attention looks back in layers with a sliding window; 0 for all.
        windowed_layers: How many layers have that window.
        rotary: Whether queries and keys are turned by their position.
        half_norms: Whether norms work and write in 16 bits, without autocast's detour through fp32.
        fused_loss: Whether the loss is one kernel that keeps no copies of the logits.
        kernels: Attention's kernels that the family's own code uses: as of a layout; empty for the usual ones.
        assumed: What was not stated and derived by the family's convention, as sentences.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    gated: bool
    tied: bool
    experts: int = 0
    active_experts: int = 0
    expert_ffn: int = 0
    routed_groups: int = 0
    shared_ffn: int = 0
    dense_layers: int = 0
    positions: int = 0
    layer_norm: bool = False
    biases: bool = False
    dropout: bool = False
    latent: LatentAttention | None = None
    window: int = 0
    windowed_layers: int = 0
    rotary: bool = True
    half_norms: bool = False
    fused_loss: bool = False
    kernels: str = ""
    assumed: tuple[str, ...] = ()

    @property
    def query_width(self) -> int:
        """Width of all queries, and of attention's result with values as wide as keys."""
        return self.heads * (self.latent.nope + self.latent.rope if self.latent else self.head_dim)

    @property
    def value_width(self) -> int:
        """Width of attention's result before its projection."""
        return self.heads * (self.latent.value if self.latent else self.head_dim)

    @property
    def kv_width(self) -> int:
        """Width of keys as attention reads them; the same as of values unless heads are latent."""
        return self.query_width if self.latent else self.kv_heads * self.head_dim

    @property
    def moe_layers(self) -> int:
        """Layers with experts."""
        return self.layers - self.dense_layers if self.experts else 0

    def mean_context(self, seq: int) -> float:
        """Tokens of the sequence that a layer's attention may look at, as a mean over layers."""
        if not self.window or not self.windowed_layers:
            return float(seq)
        share = self.windowed_layers / self.layers
        return share * min(2 * self.window, seq) + (1 - share) * seq
