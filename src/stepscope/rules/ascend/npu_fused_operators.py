"""Sequences of operations have one operator on NPUs.

## What it finds
On Ascend devices, operations one after another for which torch_npu has one operator: scaling, mask and softmax outside
of attention; SiLU or GELU of one half times the other; a router's softmax and choice of experts; a residual that is
added before a normalisation; a tensor that is put into another order twice in a row, as for the heads of attention; a
GEMM whose bias is added apart; dropout written out, and dropout of a softmax of biased scores; experts of a mixture
that are computed one after another.

## Why it matters
Each operation reads and writes whole tensors, and is dispatched by itself. One operator reads its inputs once.

## How it decides
The operations run one after another on a queue, their roles are told by the names of operators or kernels, their
sizes by recorded shapes, and no other rule fuses them. What is saved must reach `min_share` of the step; the fused
operator is assumed to take as long as the longest of those that it replaces. A bias is distinguished from a residual by
its one dimension, so that it is found only where shapes are recorded. A router chooses among 512 at most, unlike a
sampler; an addition before a normalisation is found in inference alone, for the operator has no backward pass.

Dropout is random numbers that become a mask, a multiplication and a scale, on equally large tensors; after a softmax it
is found where shapes are those that `npu_dropout_with_add_softmax` takes: four dimensions, of which the last two are
128, 256, 384 or 512, and a multiple of 32 matrices, as large as what is added. Experts are four GEMMs and more after a
choice of the largest (top-k) and before the next attention, by weights of one shape and for three and more different
numbers of tokens. One operator for all of them is taken to compute as long as they do: the price is the host's time
that goes away, and there is none where the device does not wait for the host.

## What to try
The operator that the finding names; results differ in last bits from the written-out form.

## Known limits
That one operation reads the result of the one before is taken from order and size: recordings do not say which
tensors operators read. The router's operator is advised to programs that only infer. Experts are found by shapes alone,
and in the forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, ONE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels import npu_dropouts, npu_experts, npu_fusions
from stepscope.signals.shared.program import program

_SOFTMAX: Final = Action(
    "Scale, mask and normalise in one operator",
    before="scores = torch.softmax((x * scale).masked_fill(mask, float('-inf')), dim=-1)",
    after="scores = torch_npu.npu_scaled_masked_softmax(x, mask, scale)",
    page="npu-operators",
)
_SILU: Final = Action(
    "Use the gate that is one operator; gate and up are halves of one tensor there",
    before="gate, up = x.chunk(2, dim=-1)\nF.silu(gate) * up",
    after="torch_npu.npu_swiglu(x, dim=-1)",
    page="npu-operators",
)
_GELU: Final = Action(
    "Use the gate that is one operator; gate and up are halves of one tensor there",
    before="up, gate = x.chunk(2, dim=-1)\nF.gelu(gate) * up",
    after="torch_npu.npu_geglu(x, dim=-1, approximate=1)[0]",
    page="npu-operators",
)
_GROUPED: Final = said("one operator for all experts in place of each")
_ROUTER: Final = Action(
    "Let one operator normalise and choose the experts, in inference",
    before="weights, experts = torch.softmax(logits, -1).topk(k)",
    after="weights, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(logits, None, k)",
    page="npu-operators",
    needs=("infers",),
)
_ROUTER_TRAINED: Final = Action(
    "Compile the router, so that its small operations are fewer",
    before="weights, experts = router(x)",
    after="router = torch.compile(router, backend=torchair.get_npu_backend())",
    page="npu-operators",
    needs=("trains",),
)
_NORM: Final = Action(
    "Add and normalise in one operator, in inference",
    before="x = x + residual\ny = torch_npu.npu_rms_norm(x, weight, eps)[0]",
    after="y, _, x = torch_npu.npu_add_rms_norm(x, residual, weight, eps)",
    page="npu-operators",
    needs=("infers",),
)
_ORDER: Final = Action(
    "Change order and shape in one operator, or let torch_npu copy once what two views in a row left without order",
    before="x = x.view(b, s, heads, size).transpose(1, 2).contiguous()",
    after="x = torch_npu.npu_confusion_transpose(x, (0, 2, 1, 3), (b, s, heads, size), False)\n"
    "# or, without a change of code: export COMBINED_ENABLE=1",
    page="npu-operators",
)
_BIAS: Final = Action(
    "Give the bias to the multiplication",
    before="y = x @ weight.t() + bias",
    after="y = F.linear(x, weight, bias)   # or torch_npu.npu_linear",
    page="npu-operators",
)
_DROPOUT: Final = Action(
    "Use PyTorch's dropout, which draws a mask of one bit per element and applies it in one kernel",
    before="mask = (torch.rand_like(x) > p).to(x.dtype)\ny = x * mask / (1 - p)",
    after="y = F.dropout(x, p, training=self.training)",
    page="npu-operators",
)
_SCORES: Final = Action(
    "Add, normalise and drop out in one operator",
    before="probabilities = F.dropout(torch.softmax(scores * scale + bias, dim=-1), p)",
    after="_, _, probabilities = torch_npu.npu_dropout_with_add_softmax(scores, bias, scale, p, -1)",
    page="npu-operators",
)
_EXPERTS: Final = Action(
    "Sort tokens by expert, and multiply all groups in one operator (16-bit or int8; 128 experts at most)",
    before="for i, expert in enumerate(experts):\n    y[index[i]] += expert(x[index[i]])",
    after="# tokens sorted by expert; ends: how many there are up to and with each expert\n"
    "h = torch_npu.npu_grouped_matmul([x], weights, group_list=ends, split_item=2, group_type=0)[0]\n"
    "# Megatron, MindSpeed: --moe-grouped-gemm; the backward pass needs a torch.autograd.Function of its own",
    page="npu-operators",
)
#: Kind, signal, title, what a sequence is called, and what to do.
_KINDS: Final = (
    ("softmax", npu_fusions.masked_softmaxes,
     said("A masked softmax is not fused"), said("a masked softmax"), (_SOFTMAX,)),
    ("silu", npu_fusions.silu_gates, said("A gate is not fused"), said("a gate"), (_SILU,)),
    ("gelu", npu_fusions.gelu_gates, said("A gate of GELU is not fused"), said("a gate"), (_GELU,)),
    ("router", npu_fusions.routings, said("A router is not fused"), said("the choice of experts"),
     (_ROUTER, _ROUTER_TRAINED)),
    ("norm", npu_fusions.added_norms, said("An addition before a normalisation is not fused"),
     said("an addition and its normalisation"), (_NORM,)),
    ("order", npu_fusions.rearrangements, said("A tensor is put into another order twice"),
     said("a change of order"), (_ORDER,)),
    ("bias", npu_fusions.added_biases, said("A bias is added apart"), said("a GEMM with its bias"), (_BIAS,)),
    ("dropout", npu_dropouts.dropouts, said("Dropout is written out"), said("dropout"), (_DROPOUT,)),
    ("scores", npu_dropouts.dropped_softmaxes, said("Dropout of a softmax is not fused"),
     said("a softmax of biased scores with its dropout"), (_SCORES,)),
    ("experts", npu_experts.expert_loops, said("Experts are computed one after another"),
     said("the loop over experts"), (_EXPERTS,)),
)  # fmt: skip


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for each kind of sequence."""
    told = s.maybe(program)
    for key, wanted, title, called, actions in _KINDS:
        if key == "norm" and told is not None and not told.infers:
            continue
        instead = _GROUPED if key == "experts" else ONE
        for draft in fused(s, limits, wanted, (title, called), actions, instead):
            yield replace(draft, key=key)


RULE = Rule("ASC016", "npu-fused-operators", thresholds=(MIN_SHARE,), check=check)
