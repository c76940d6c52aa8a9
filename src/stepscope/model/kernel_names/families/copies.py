"""Copies and fills by the copy engine or by the runtime's own kernels.

These come before the collectives: `hipMemcpyAsync` is a copy although it starts with `hip`.
"""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "runtime copies",
    ("mem", "copy", "fill", "dma", "stream"),
    (
        rule(
            "copy",
            r"^\[?(?:cuda |hip )?(?:hip|cuda|cu|aclrt|musa|xpu)?_?mem(?:cpy|set)(?![a-z]*reduce)",
        ),
        rule("copy", r"^__amd_rocclr_(?:copy|fill|stream)", r"^copy(?:device|host|peer)\w*to", r"^fillbuffer"),
        rule("copy", r"^dma(?:_|$)", r"^(?:sdma|pcie_dma|memcpy_async)"),
        exact("copy", r"^zeCommandListAppendMemory", r"^urEnqueue\w*(?:Copy|Fill)"),
    ),
)
