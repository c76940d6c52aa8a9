"""The matrix multiplications of a layer."""

from __future__ import annotations

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Layout


def multiplications(shape: ModelShape, layout: Layout, sparse: bool) -> list[tuple[float, float, float, float]]:
    """Rows, columns, depth and number of a layer's matrix multiplications."""
    tokens, tp, hidden = float(layout.tokens), layout.tp, shape.hidden
    found: list[tuple[float, float, float, float]] = []
    if shape.latent:
        one = shape.latent
        if one.query_rank:
            found += [(tokens, one.query_rank, hidden, 1), (tokens, shape.query_width / tp, one.query_rank, 1)]
        else:
            found.append((tokens, shape.query_width / tp, hidden, 1))
        found += [
            (tokens, one.kv_rank + one.rope, hidden, 1),
            (tokens, shape.heads * (one.nope + one.value) / tp, one.kv_rank, 1),
        ]
    else:
        found.append((tokens, (shape.query_width + 2 * shape.kv_width) / tp, hidden, 1))
    found.append((tokens, hidden, shape.value_width / tp, 1))
    sides = 2 if shape.gated else 1
    if not sparse:
        return [*found, (tokens, sides * shape.ffn / tp, hidden, 1), (tokens, hidden, shape.ffn / tp, 1)]
    local = shape.experts / layout.ep
    # Experts that fewer ranks split than the rest get each token from one of these only.
    rows = tokens * layout.expert_split / tp * shape.active_experts / local
    width = shape.expert_ffn / layout.expert_split
    found += [(rows, sides * width, hidden, local), (rows, hidden, width, local)]
    if shape.shared_ffn:
        found += [
            (tokens, sides * shape.shared_ffn / tp, hidden, 1),
            (tokens, hidden, shape.shared_ffn / tp, 1),
        ]
    return [*found, (tokens / layout.split, shape.experts, hidden, 1)]
