"""Copies and fills by the copy engine or by the runtime's own kernels.

These come before the collectives: `hipMemcpyAsync` is a copy although it starts with `hip`.
"""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "runtime copies",
    None,
    (
        rule("copy", r"^\[?(?:CUDA |HIP )?(?:hip|cuda|cu|aclrt|musa|xpu)?_?mem(?:cpy|set|ory copy|ory set)(?![a-z]*reduce)"),
        rule("copy", r"^__amd_rocclr_(?:copy|fill|stream)", r"^Copy(?:Device|Host|Peer)\w*To", r"^FillBuffer"),
        rule("copy", r"^dma(?:_|$)", r"^(?:SDMA|PCIE_DMA|MEMCPY_ASYNC)"),
        exact("copy", r"^zeCommandListAppendMemory", r"^urEnqueue\w*(?:Copy|Fill)"),
    ),
)
