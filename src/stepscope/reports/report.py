"""A report, as `stepscope.open(...).analyze()` returns it: its contents, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepscope.reports.contents import Contents


@dataclass(frozen=True, slots=True, repr=False)
class Report(Contents):
    """Contents that print themselves in a terminal, show themselves in a notebook and become JSON."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, see `docs/report.md`."""
        from stepscope.reports.json import values

        return values(self)

    def __repr__(self) -> str:
        rows = sum(len(table) for table in self.tables.values())
        return (
            f"Report({len(self.sources)} rank(s), {len(self.health)} line(s) of health, "
            f"{len(self.tables)} tables with {rows} rows: {', '.join(self.tables)})"
        )

    def __rich__(self) -> Any:
        from stepscope.reports.terminal import renderable

        return renderable(self)

    def _repr_html_(self) -> str:
        from stepscope.reports.html import fragment

        return fragment(self)
