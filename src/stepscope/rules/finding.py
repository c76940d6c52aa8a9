"""A finding: what is slow, why, what to change, and the estimated saving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from stepscope.language import sentences
from stepscope.model.showing import Shown

#: Families, in the order in which documentation lists them.
FAMILIES: Final = (
    "data", "host", "synchronisation", "copies", "kernels", "memory", "communication", "cluster", "ascend", "system",
    "recording",
)  # fmt: skip

#: High costs a tenth of the step or more, or makes the program fail; medium three hundredths, low less; advice has no
#: price in time.
SEVERITIES: Final = ("high", "medium", "low", "advice")

#: Whether a finding makes the program fail, whatever it costs before.
Fate = Literal["", "failed", "will fail"]

Platform = Literal["cuda", "rocm", "npu", "xpu", "cpu", "other"]


#: What a remedy may presuppose of the program; `stepscope.rules.fitting` decides for which programs it holds.
Need = Literal[
    "pytorch", "python", "other python", "native", "kernels of its own", "directives", "openmp", "openacc", "cuda",
    "rocm", "cuda or rocm", "npu", "a device", "no device", "may train", "trains", "infers", "serves",
    "loop of its own", "loads", "not compiled", "compiled", "no graphs", "ddp", "fsdp",
    "gradients reduced by hand", "gradients reduced in buckets", "gradients are reduced", "host not recorded", "vllm",
    "sglang", "llama.cpp", "mindspore", "jax", "tensorflow", "onnxruntime",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """Something to change.

    Attributes:
        text: What to do, one sentence.
        before: Code or setting as it is; empty where there is nothing to show.
        after: Code or setting as it should be.
        page: Page of `docs/remedies/`, without suffix; empty for none.
        needs: What it presupposes beyond what its own words do; it is left out where that does not hold.
    """

    text: str
    before: str = ""
    after: str = ""
    page: str = ""
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a finding rests on, for checking it.

    Attributes:
        ranks: Ranks on which it was seen.
        steps: Steps it was seen in, as in `steps`; empty for all.
        ranges: Start and end, in ns since the trace's origin, of the longest stretches.
        events: Ids of events of the first rank, the most relevant first.
        rows: Rows of the report's tables: `{"table": ..., "where": {column: value}}`.
        numbers: Signals and what they measured, with the thresholds they were held against.
    """

    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()
    events: tuple[int, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """One thing that costs time or memory, with its cause.

    Attributes:
        code: The rule's code, for example `DAT001`.
        name: The rule's name.
        family: The rule's family.
        severity: One of `SEVERITIES`.
        title: What is wrong, a short phrase.
        summary: What was seen and why it matters, one to three sentences with figures.
        notes: Sentences on its price beside other findings: what a common remedy saves, or what hides its saving.
        cost_ns: What the typical step would save, once the findings above it on the same rank are fixed; null where the
            price is not one of time.
        gain_ceiling: T / (T - cost) - 1; null without cost.
        confidence: Between 0 and 1.
        evidence: What to check it by.
        actions: What to do, the most promising first.
        symptoms: Titles of findings that this one is the cause of.
        taken_ns: Without a price: what it is about takes so much of a step; null where that is not said.
        placed_as_ns: Without a price: it stands where it would if it cost this; null where it stands below all prices.
        inspect: Command of the vendor's profiler for the kernel that it is about; empty if it is about none.
        alone_ns: What the typical step would save by this alone; null where that is no other than `cost_ns`.
        together_ns: What the typical step would save by a remedy that this finding has in common with others; null
            where there is none, and in all but the first of them.
        together: Codes of the findings that it cures, this one in front; mostly empty.
        shown: Whether it is worth showing unasked: its cost is at least 1 % of the step, it is advice, or it
            is certain and simple to change.
        share: `cost_ns` as a share of the typical step; null without a price.
        fate: Whether it makes the program fail, which puts it first; mostly empty.
        waiting: Whether the device computes nothing in `taken_ns`.
        late: Ranks that it says the others wait for, the one that they wait for most first; they are those that
            `slow_ranks` calls slow.
        recorded_share: What would be saved as a share of the recorded time, where it is no part of a typical step;
            null elsewhere.
    """

    code: str
    name: str
    family: str
    severity: str
    title: str
    summary: str
    cost_ns: int | None
    gain_ceiling: float | None
    confidence: float
    evidence: Evidence
    actions: tuple[Action, ...]
    symptoms: tuple[str, ...] = ()
    taken_ns: int | None = None
    placed_as_ns: int | None = None
    inspect: str = ""
    alone_ns: int | None = None
    together_ns: int | None = None
    together: tuple[str, ...] = ()
    shown: bool = True
    share: float | None = None
    fate: Fate = ""
    recorded_share: float | None = None
    waiting: bool = False
    late: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The summary with its notes, as reports show it."""
        return sentences((self.summary, *self.notes))

    @property
    def weight_ns(self) -> int:
        """The cost that sets its position: the price, else a part of the time that it is about."""
        if self.cost_ns is not None:
            return self.cost_ns
        return self.placed_as_ns or 0

    @property
    def order(self) -> tuple[bool, bool, int, bool, float, str, str]:
        """Failures of the program first, then by cost; advice by confidence, what to record next time last."""
        advice = self.cost_ns is None and not self.weight_ns
        sure = self.confidence if advice else 0.0
        later = advice and self.family == "recording"
        return not self.fate, advice, -self.weight_ns, later, -sure, self.code, self.title

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        actions = [{name: value for name, value in asdict(one).items() if name != "needs"} for one in self.actions]
        return {**asdict(self), "summary": self.text, "actions": actions, "page": f"docs/rules/{self.code}.md"}
