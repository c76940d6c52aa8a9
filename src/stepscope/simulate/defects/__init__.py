"""Defects of real recordings, as functions from a good file's bytes to a defective one's.

Each takes what the Kineto writer wrote; they do not combine, as the damaged text need not be parseable.
"""

from __future__ import annotations

from collections.abc import Callable

from stepscope.simulate.defects import fields, structure, text, times
from stepscope.simulate.defects.document import Damaged

Defect = Callable[[bytes], Damaged]

_FUNCTIONS: tuple[Defect, ...] = (
    text.backslashes,
    text.control_characters,
    text.quotes,
    text.not_numbers,
    text.not_available,
    text.invalid_utf8,
    text.byte_order_mark,
    text.crlf,
    text.one_line,
    text.indented,
    text.trailing_comma,
    times.zero_times,
    times.zero_kernel_times,
    times.absolute_times,
    times.overflowing_durations,
    times.negative_durations,
    times.unclosed_frames,
    times.overlapping_kernels,
    times.crossing_intervals,
    fields.missing_correlation,
    fields.missing_sequence,
    fields.string_streams,
    fields.string_threads,
    fields.missing_distributed_info,
    fields.missing_devices,
    fields.missing_steps,
    fields.missing_names,
    fields.missing_metadata,
    structure.truncated,
    structure.truncated_between,
    structure.bare_list,
    structure.events_first,
    structure.events_last,
    structure.duplicated,
    structure.leaked_warmup,
    structure.empty,
    structure.no_device,
    structure.odd_names,
)

DEFECTS: dict[str, Defect] = {function.__name__.replace("_", "-"): function for function in _FUNCTIONS}

__all__ = ["DEFECTS", "Damaged", "Defect"]
