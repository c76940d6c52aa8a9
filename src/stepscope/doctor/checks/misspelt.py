"""Variables that nothing reads, since their names are almost those of others."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.checks.known_variables import KNOWN, NAMES
from stepscope.doctor.facts import Facts
from stepscope.language import said

#: How alike two names are, of 1, so that one may be meant by the other: one letter in ten differs.
_ALIKE: Final = 0.9
#: What begins as the names of collective libraries, allocators and OpenMP do, and might be misspelt there.
_STARTS: Final = ("N", "H", "T", "O", "P")


@check(
    "misspelt-variables",
    "a variable's name differs by a letter or two from one of NCCL, HCCL, PyTorch or OpenMP, and is none of theirs",
    "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html),"
    " [HCCL](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/850/maintenref/envvar/envref_07_0149.html)",
)
def misspelt_variables(facts: Facts) -> Verdict:
    """Names that are almost known ones."""
    found = []
    for name, value in sorted(facts.environ.items()):
        if name in NAMES or not name.startswith(_STARTS) or "_" not in name:
            continue
        # NCCL and HCCL have variables of the same names but for the first letter.
        family = next((names for prefix, names in KNOWN.items() if name.startswith(prefix)), NAMES)
        near = get_close_matches(name, family, n=1, cutoff=_ALIKE)
        if near and near[0] not in facts.environ:
            found.append(
                Advice(
                    "warning",
                    said("{name}={value} is read by nothing", name=name, value=value),
                    "the setting that was meant has no effect, and nothing says so",
                    said("set {near} instead, if that is meant", near=near[0]),
                )
            )
    return found
