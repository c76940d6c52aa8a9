from __future__ import annotations

import pytest

from report_support import HOSTILE, sample_report
from stepscope.reports.markdown import escaped, text

EXPECTED = """\
# run/trace.json

Device X · rank 0 of 2 · 1,234 events

## Health

1 error, 1 note

- **error**: the recording gemm ends early → sums are too low
- 12 events were renamed

## Findings

prices are estimated savings of a step of 9.00 ms

### 1. The step waits for gemm (1.50 ms per step, 16.7 %, 2 ranks)

1.50 ms go to gemm. (DAT001)

- Load gemm in worker processes (`stepscope rules loading`)

  ```diff
  - DataLoader(data)
  + DataLoader(data,
  +   num_workers=8)
  ```

It also explains: idle gemm.

### 2. Shapes were not recorded (advice)

Nobody knows. (REC001)

- Record shapes

## Where the time went

2 steps

| | total | | compute | exposed communication | exposed copy | idle |
|---|--:|---|--:|--:|--:|--:|
| step 0 | 10.0 ms | `██████████████▓▓▒······` | 60.0 % | 10.0 % | 5.0 % | 25.0 % |
| step 1 | 8.00 ms | `██████████████▓▓··` | 75.0 % | 12.5 % | 0.0 % | 12.5 % |
| mean | 9.00 ms | `██████████████▓▓▒····` | 66.7 % | 11.1 % | 2.8 % | 19.4 % |
"""


def test_exact_beginning() -> None:
    assert text(sample_report()).startswith(EXPECTED)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_in_their_cell(name: str) -> None:
    lines = text(sample_report((name, "add"))).splitlines()
    [head] = [i for i, line in enumerate(lines) if line == "**Kernels**"]
    columns = lines[head + 2].count("|")
    rows = lines[head + 4 : head + 6]
    assert all(row.count("|") == columns for row in rows)
    outside_code = "".join("".join(line.split("`")[::2]) for line in lines)
    assert "<" not in outside_code
    assert "](" not in outside_code
    assert not set("".join(lines)) & {"\x1b", "\x9b", "\u202e", "\x00"}


def test_nothing_special_is_left_outside_code() -> None:
    assert escaped("a|b<c>`d`*e*") == "a&#124;b&#60;c&#62;&#96;d&#96;&#42;e&#42;"
    assert escaped("http://x www.y") == "http&#58;&#47;&#47;x &#119;&#119;&#119;&#46;y"
