"""What to write into a program: calls with other arguments, and lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.trying.registry import all_remedies
from stepscope.trying.seen import Constructed, Seen
from stepscope.trying.writing import to_write


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("loader = DataLoader(data, batch_size=32)",
         ("- loader = DataLoader(data, batch_size=32)",
          "+ loader = DataLoader(data, batch_size=32, num_workers=2, persistent_workers=True)")),
        ("loader = data.DataLoader(data, num_workers=0)",
         ("- loader = data.DataLoader(data, num_workers=0)",
          "+ loader = data.DataLoader(data, num_workers=2, persistent_workers=True)")),
        ("loader = DataLoader(\n    'ä', 32,\n)  # all",
         ("- loader = DataLoader(", "-     'ä', 32,", "- )  # all", "+ loader = DataLoader(", "+     'ä', 32,",
          "+ num_workers=2, persistent_workers=True)  # all")),
        ("loader = DataLoader(data, **options)", ("+ DataLoader(..., num_workers=2, persistent_workers=True)",)),
        ("loader = made(data)", ("+ DataLoader(..., num_workers=2, persistent_workers=True)",)),
        ("not Python (", ("+ DataLoader(..., num_workers=2, persistent_workers=True)",)),
    ],
)  # fmt: skip
def test_a_call_gets_other_arguments(tmp_path: Path, source: str, lines: tuple[str, ...]) -> None:
    program = tmp_path / "train.py"
    program.write_text(source + "\n", encoding="utf-8")
    inside = tmp_path / "out" / "runs" / "one" / "root"
    file = str(inside.joinpath(*program.parts[1:]))
    made = Constructed(
        "DataLoader", "loader", file, 1, {"num_workers": 0, "persistent_workers": False},
        {"num_workers": 2, "persistent_workers": True}, {"iterable": False},
    )  # fmt: skip
    seen = Seen(cores=2, constructed=[made])
    found = to_write(all_remedies()["loader-workers"], seen, seen, tmp_path / "out" / "runs", tmp_path)
    assert found.lines == ("train.py:1", *lines)


def test_variables_and_lines() -> None:
    seen = Seen(device="npu", cores=4, local_world=2, models=[{"class": "Net"}])
    write = {name: to_write(one, seen, seen, Path("/o"), Path("/w")).lines for name, one in all_remedies().items()}
    assert write["task-queue"] == ("+ export TASK_QUEUE_ENABLE=2",)
    assert write["threads"][0] == "+ export OMP_NUM_THREADS=2"
    assert write["compile"] == ("+ model.compile()  # Net, before its first call",)
