"""What a run of the program showed from outside: what decides whether a remedy fits, and what to write into it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Constructed:
    """An object of an interface of torch's, with what the program gave it.

    Attributes:
        interface: `DataLoader`, `DistributedDataParallel`, or the name of an optimizer's class.
        kind: `loader`, `optimizer` or `ddp`.
        file: File of the program that made it; empty if none of its own did.
        line: Its line there, from 1.
        arguments: Numbers, texts and booleans that it was made with, defaults included.
        changed: Those that a remedy set.
        facts: What else is known of it.
        count: So many were made there.
    """

    interface: str
    kind: str
    file: str
    line: int
    arguments: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    count: int = 1


@dataclass(slots=True)
class Seen:
    """A rank of the program, as far as hooks see it.

    Attributes:
        device: `cpu`, `cuda`, `npu` or another type of torch's: where the parameters of the model are.
        hip: Whether `cuda` means AMD.
        torch: torch's version.
        cores: Processors that the process may use.
        machine_cores: Processors of the machine.
        threads: Threads of an operator on the processor.
        world: Number of ranks.
        local_world: Ranks on this machine.
        backwards: Backward passes per update by the optimizer; 0 if that is not always the same.
        constructed: Loaders, optimizers and wrappers.
        models: Class, parameters and number of convolutions of each model that is called by no other.
        calls: How often functions were called that a remedy may replace, by name.
        running: Processors that the process used on average while it warmed up; 0 if not known.
        waits: Share of the step in which the loop waits for its batch.
        exchange: Share of the step in which its ranks exchange data through the host and wait for it.
        exchanges: Collectives per step that threads of the host carry out.
        small_operators: Operators per step, where half of them take less than 100 µs and call no other; else 0.
        environment: Variables of the process that a remedy may set.
    """

    device: str = "cpu"
    hip: bool = False
    torch: str = ""
    cores: int = 1
    machine_cores: int = 1
    threads: int = 1
    world: int = 1
    local_world: int = 1
    backwards: int = 0
    constructed: list[Constructed] = field(default_factory=list)
    models: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    running: float = 0.0
    waits: float = 0.0
    exchange: float = 0.0
    exchanges: int = 0
    small_operators: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> list[Constructed]:
        """What was made of a kind."""
        return [one for one in self.constructed if one.kind == kind]

    @property
    def cores_per_rank(self) -> int:
        """Processors that each rank of this machine can have to itself."""
        return max(1, self.cores // max(1, self.local_world))

    @property
    def trains(self) -> bool:
        """Whether there is an optimizer."""
        return bool(self.of("optimizer"))

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Seen:
        """From JSON values."""
        made = [Constructed(**one) for one in values.get("constructed", [])]
        return cls(**{**values, "constructed": made})
