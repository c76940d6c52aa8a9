from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Draft
from stepscope.signals.copies.broadcasts import Broadcasts, broadcasts, copied_in
from stepscope.signals.data.data import wait_ns

READER = {wait_ns: 5000, broadcasts: Broadcasts(1, 1000, 0), copied_in: 1000}


def found(*ranks: Mapping[Any, Any]) -> list[Draft]:
    return job_drafts("DAT003", dict(enumerate(ranks)))


def receiver(bytes_: int = 1000, exposed: int = 300) -> Mapping[Any, Any]:
    return {broadcasts: Broadcasts(1, bytes_, exposed), copied_in: 0}


def test_one_reader_and_others_that_receive_are_found() -> None:
    (draft,) = found(READER, receiver(exposed=300), receiver(exposed=500))
    assert draft.cost_ns == 400
    assert draft.ranks == (1, 2, 0)
    assert {"0"} <= set(figures(draft.summary))


def test_the_readers_rank_need_not_be_0() -> None:
    (draft,) = found(receiver(), READER)
    assert {"1"} <= set(figures(draft.summary))


def test_each_rank_with_its_own_loader_is_how_it_should_be() -> None:
    assert found(READER, READER) == []


def test_other_broadcasts_than_the_batch_do_not_count() -> None:
    assert found(READER, receiver(499)) == []
    assert len(found(READER, receiver(500))) == 1


def test_where_others_receive_nothing_they_may_read_in_another_way() -> None:
    assert found(READER, {copied_in: 0}) == []


def test_one_recording_is_not_enough() -> None:
    with pytest.raises(MissingInputError):
        found(READER)
