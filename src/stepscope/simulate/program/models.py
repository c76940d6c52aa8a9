"""Forward passes of the models a job can train; the tape makes their backward."""

from __future__ import annotations

from functools import partial

from stepscope.simulate.pipeline import PipelineStage
from stepscope.simulate.program import convolution as conv
from stepscope.simulate.program import gemms, ops
from stepscope.simulate.program.builder import Builder
from stepscope.simulate.specs import TensorSpec


def batch_tensors(b: Builder, sequence: int) -> tuple[TensorSpec, TensorSpec]:
    """A batch: input and target."""
    job = b.job
    if job.model == "transformer":
        tokens = TensorSpec((job.batch, sequence), "int64")
        return tokens, tokens
    if job.model == "convnet":
        return TensorSpec((job.batch, 3, job.image, job.image), job.dtype), TensorSpec((job.batch,), "int64")
    return TensorSpec((job.batch, job.hidden), job.dtype), TensorSpec((job.batch,), "int64")


def forward(b: Builder, x: TensorSpec, target: TensorSpec) -> None:
    """Emit the model's forward and its loss."""
    model = {"transformer": _transformer, "convnet": conv.convnet, "mlp": _mlp}[b.job.model]
    with b.frame("train.py(41): forward", f"nn.Module: {b.job.model.capitalize()}_0"):
        logits = model(b, x)
    if b.job.training:
        _loss(b, logits, target)


def stage_forward(b: Builder, stage: PipelineStage, tokens: TensorSpec, target: TensorSpec) -> None:
    """Emit the forward of a pipeline's stage on one micro-batch; the last one ends with the loss."""
    with b.frame("train.py(41): forward", "nn.Module: TransformerStage_0"):
        x = _embedded(b, tokens) if stage.first else TensorSpec((*tokens.shape, b.job.hidden), b.job.dtype)
        for layer in stage.layers:
            with b.frame(f"nn.Module: Block_{layer}", "model.py(57): forward"):
                _block(b, x, layer)
        logits = _head(b, x) if stage.last else None
    if logits is not None:
        _loss(b, logits, target)


def _loss(b: Builder, logits: TensorSpec, target: TensorSpec) -> None:
    with b.frame("torch/nn/functional.py(3104): cross_entropy"):
        rows = logits.elements // logits.shape[-1]
        flat = TensorSpec((rows, logits.shape[-1]), logits.dtype)
        ops.cross_entropy(b, flat, TensorSpec((rows,), target.dtype))


def items_due(b: Builder, layer: int) -> None:
    """Extra work of the job after a layer: read numbers from the device, compute with fp64."""
    for _ in range(b.due(b.job.items_per_step, layer)):
        b.item()
    for _ in range(b.due(b.job.double_ops, layer)):
        ops.double(b)


def _mlp(b: Builder, x: TensorSpec) -> TensorSpec:
    for layer in range(b.job.layers):
        with (
            b.frame(f"nn.Module: Linear_{layer}", "torch/nn/modules/linear.py(124): forward"),
            b.unit(b.job.hidden**2 + b.job.hidden),
        ):
            x = gemms.linear(b, x, b.job.hidden)
        x = ops.pointwise(b, ("aten::relu", "ReluBackward0"), "LaunchClampScalarFunctor<T>", x, b.job.elementwise_split)
        items_due(b, layer)
    return gemms.linear(b, x, b.job.vocab)


def _transformer(b: Builder, tokens: TensorSpec) -> TensorSpec:
    job = b.job
    x = _embedded(b, tokens)
    # Four square matrices in the attention, eight in the MLP, their biases, and two normalisations.
    block = 12 * job.hidden**2 + 13 * job.hidden
    for layer in range(job.layers):
        with b.frame(f"nn.Module: Block_{layer}", "model.py(57): forward"):
            if job.recompute and job.training:
                with b.unit(block):
                    _checkpointed(b, x, layer)
            else:
                with b.unit(block):
                    _block(b, x, layer)
        items_due(b, layer)
    return _head(b, x)


def _embedded(b: Builder, tokens: TensorSpec) -> TensorSpec:
    with b.frame("nn.Module: Embedding_0", "torch/nn/modules/sparse.py(190): forward"):
        return ops.embedding(b, tokens, TensorSpec((b.job.vocab, b.job.hidden), b.job.dtype))


def _head(b: Builder, x: TensorSpec) -> TensorSpec:
    with b.frame("nn.Module: LayerNorm_final"):
        x = ops.layer_norm(b, x)
    with b.frame("nn.Module: Linear_head", "torch/nn/modules/linear.py(124): forward"):
        return gemms.linear(b, x, b.job.vocab, bias=False)


def _block(b: Builder, x: TensorSpec, layer: int) -> None:
    job = b.job
    with b.frame(f"nn.Module: LayerNorm_{2 * layer}"):
        ops.layer_norm(b, x)
    with b.frame(f"nn.Module: Attention_{layer}", "model.py(23): forward"):
        gemms.linear(b, x, 3 * job.hidden)
        _attention(b, x)
        ops.contiguous(b, x)
        gemms.linear(b, x, job.hidden)
    ops.pointwise(b, ("aten::add", "AddBackward0"), "CUDAFunctor_add<T>", x, job.elementwise_split)
    with b.frame(f"nn.Module: LayerNorm_{2 * layer + 1}"):
        ops.layer_norm(b, x)
    with b.frame(f"nn.Module: MLP_{layer}", "model.py(41): forward"):
        (b.feed_forward or partial(feed_forward, b))(x)
    ops.pointwise(b, ("aten::add", "AddBackward0"), "CUDAFunctor_add<T>", x, job.elementwise_split)


def feed_forward(b: Builder, x: TensorSpec) -> None:
    """A block's MLP."""
    wide = gemms.linear(b, x, 4 * b.job.hidden)
    ops.pointwise(b, ("aten::gelu", "GeluBackward0"), "GeluCUDAKernelImplFunctor<T>", wide, b.job.gelu_split)
    gemms.linear(b, wide, b.job.hidden)


def _attention(b: Builder, x: TensorSpec) -> None:
    job = b.job
    batch, sequence, hidden = x.shape
    heads = max(1, job.heads)
    width = max(1, hidden // heads)
    q = TensorSpec((batch, heads, sequence, width), x.dtype)
    for _ in range(3):
        b.view("aten::transpose", q)
    if job.attention == "flash":
        gemms.flash_attention(b, q)
        return
    scores = TensorSpec((batch, heads, sequence, sequence), x.dtype)
    gemms.matmul(b, q, q, (batch * heads, sequence, sequence, width), "tn")
    ops.pointwise(b, ("aten::mul", "MulBackward0"), "MulFunctor<T>", scores, job.elementwise_split)
    ops.softmax(b, scores)
    gemms.matmul(b, scores, q, (batch * heads, sequence, width, sequence), "nn")


def _checkpointed(b: Builder, x: TensorSpec, layer: int) -> None:
    """Run a block without keeping its activations, and once more when the backward needs them."""
    outer = b.tape
    b.tape = []
    _block(b, x, layer)
    for node in b.tape:
        b.free(*node.saved)
    b.tape = outer
    number, b.sequence = b.sequence, b.sequence + 1

    def backward() -> None:
        known = len(b.params)
        kept, b.tape = b.tape, []
        _block(b, x, layer)
        del b.params[known:]
        b.run_backward(b.tape)
        b.tape = kept

    b.record(("CheckpointFunctionBackward", number), (x,), backward)
