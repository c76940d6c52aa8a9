"""Lines of health that differ in numbers alone are one line."""

from __future__ import annotations

import pytest

from stepscope.language import recalled, speaking, told
from stepscope.reports.sections.merged import shape, together
from stepscope.reports.text import visible


@pytest.mark.parametrize(
    ("sentences", "one"),
    [
        (["shifted by 14144 ns", "shifted by 26173 ns"], "shifted by 14144 to 26173 ns"),
        (["by up to 5.84 µs", "by up to 1.2 ms", "by up to 24.4 µs"], "by up to 1.2 ms"),
        (["at least 3 ranks", "at least 2 ranks"], "at least 2 ranks"),
        (["1,024 of 20", "7 of 20"], "7 to 1,024 of 20"),
        (["2 GiB of 4", "900 MB of 4"], "900 MB to 2 GiB of 4"),
        (["an H100, v2.3", "an H100, v2.3"], "an H100, v2.3"),
        (["3.00 ms", "3 ms"], "3.00 ms"),
        (["steps 19 to 22 of 40", "steps 9 to 20 of 40"], "steps 9 to 22 of 40"),
        (["1 to 2 µs", "2 to 3 ms"], "1 µs to 3 ms"),
        (["1 to 2 µs", "500 to 900 ns"], "500 ns to 2 µs"),
    ],
)
def test_numbers_that_differ_become_a_range_and_bounds_the_widest(sentences: list[str], one: str) -> None:
    assert together(sentences) == one


@pytest.mark.parametrize(("one", "other"), [("3 ms", "3 MB"), ("H100", "H200"), ("rank3.json", "rank4.json"),
                                            ("12 kernels", "12 copies")])  # fmt: skip
def test_what_differs_in_more_than_numbers_is_of_another_shape(one: str, other: str) -> None:
    assert shape(one) != shape(other)
    with pytest.raises(ValueError, match="shapes"):
        together([one, other])


def test_ranges_are_told_in_chinese() -> None:
    with speaking("zh"):
        moved = "the device's clock is off the host's: its times were moved {} µs later"
        one = told(visible(recalled(together([moved.format(14.1), moved.format(26.2)]))))
        assert one == "设备的时钟与 Host 不一致：其时间推后了 14.1 到 26.2 µs"
