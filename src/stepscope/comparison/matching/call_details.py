"""From where the calls of a tree were made and with which inputs, for tables that show them one by one."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.shared.stacks import op_stacks
from stepscope.comparison.matching.call_tree import CallNode
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.trace import Trace


def describe(root: CallNode, trace: Trace) -> None:
    """Give operators the inputs of their first call, and modules and ranges the stack of theirs, where recorded."""
    nodes = [node for node in root.walk() if node.event >= 0]
    events = np.array([node.event for node in nodes], np.int64)
    if not events.size:
        return
    inputs, known = inputs_at(trace, Spans(trace).rows(events)), trace.once(input_texts)
    for node, at in zip(nodes, inputs.tolist(), strict=True):
        if at in known:
            node.shapes, node.dtypes = known[at]["shapes"], known[at]["dtypes"]
    # Calls of a library within an operator, such as `aclnnMatmul`, work on what the operator was given.
    for node in root.walk():
        for child in node.children.values():
            if child.kind == "op" and not child.shapes:
                child.shapes, child.dtypes = node.shapes, node.dtypes
    modules = [node for node in nodes if node.kind != "op"]
    if not modules:
        return
    try:
        stacks = op_stacks(trace, np.array([node.event for node in modules], np.int64))
    except MissingInputError:
        return
    for node, stack in zip(modules, stacks.texts(stacks.code), strict=True):
        # Outermost first, as one reads how a program came there.
        node.stack = ";\n".join(reversed(stack.split(";"))) if stack else ""
