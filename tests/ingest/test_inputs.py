"""Texts of operators' inputs are kept once."""

from __future__ import annotations

from support import Facts


def test_calls_with_the_same_inputs_share_their_texts() -> None:
    facts = Facts()
    for number, shapes in enumerate(("[[4]]", "[[8]]", "[[4]]")):
        event = facts.host("op", "aten::relu", 100 * number, 10)
        facts.row("op_inputs", event=event, shapes=shapes, dtypes='["float"]', sequence=number)
    trace = facts.trace()
    rows = trace.sql("SELECT event, shapes, dtypes, sequence FROM op_inputs ORDER BY event").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, "[[4]]", '["float"]', 0),
        (1, "[[8]]", '["float"]', 1),
        (2, "[[4]]", '["float"]', 2),
    ]
    assert trace.scalar("SELECT count(*) FROM input_texts") == 2


def test_an_operator_may_have_a_sequence_number_and_no_texts() -> None:
    facts = Facts()
    facts.row("op_inputs", event=facts.host("op", "aten::relu", 0, 10), sequence=7)
    trace = facts.trace()
    assert trace.sql("SELECT event, sequence, shapes, stack FROM op_inputs").to_pylist() == [
        {"event": 0, "sequence": 7, "shapes": None, "stack": None}
    ]
    assert trace.scalar("SELECT count(*) FROM input_texts") == 0


def test_texts_that_differ_in_one_column_are_two() -> None:
    facts = Facts()
    for number, stack in enumerate(("a.py(1): f", None)):
        event = facts.host("op", "aten::relu", 100 * number, 10)
        facts.row("op_inputs", event=event, shapes="[[4]]", stack=stack)
    trace = facts.trace()
    found = trace.sql("SELECT event, stack FROM op_inputs ORDER BY event").to_pylist()
    assert found == [{"event": 0, "stack": "a.py(1): f"}, {"event": 1, "stack": None}]
