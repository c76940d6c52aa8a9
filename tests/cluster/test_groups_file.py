"""Groups of parallelism that a user states, and tensor parallelism over the network."""

from __future__ import annotations

import json

import pytest
from tests.cluster.job_support import job

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.cluster.groups_file import read_groups
from stepscope.cluster.parallel_groups import parallel_groups
from stepscope.cluster.part import GroupPart
from stepscope.model.errors import UserError
from stepscope.reports.ranks.job_lines import job_lines


def four(hosts, given=(), description=""):
    """Two pairs of ranks that reduce something."""
    groups = {
        rank: [
            GroupPart(f"pair{rank // 2}", description, (rank - rank % 2, rank - rank % 2 + 1), 2, ("all_reduce",), 3, 9)
        ]
        for rank in range(4)
    }
    parts = job([[1]] * 4, hosts=dict(enumerate(hosts)), groups=groups)
    parts.given = given
    return parts


def test_what_is_stated_counts_more_than_what_is_told():
    given = (GivenGroup("tensor", (0, 1), ""), GivenGroup("context", (), "pair1"), GivenGroup("expert", (0, 2), "x"))
    rows = {row["group"]: row for row in parallel_groups(four("aabb", given, "dp")).records()}
    told = {name: (row["parallelism"], row["told_by"], row["ranks"], row["calls"]) for name, row in rows.items()}
    assert told == {
        "pair0": ("tensor", "file", [0, 1], 6), "pair1": ("context", "file", [2, 3], 6),
        "x": ("expert", "file", [0, 2], 0),
    }  # fmt: skip
    assert rows["x"]["across_hosts"] is True


def test_tensor_parallelism_between_hosts_is_said():
    assert job_lines(four("aabb", description="tp")) == []
    assert job_lines(four("abab", description="dp")) == []
    assert job_lines(four([None] * 4, description="tp")) == []
    [line] = job_lines(four("abab", description="tp"))
    assert (line.code, line.count) == ("tensor-across-hosts", 2)
    assert "0, 1" in line.message


def test_a_file_states_groups(tmp_path):
    path = tmp_path / "groups.json"
    path.write_text(json.dumps([{"parallelism": "data", "ranks": [3, 1]}, {"parallelism": "tensor", "group": "7"}]))
    assert read_groups(path) == (GivenGroup("data", (1, 3), ""), GivenGroup("tensor", (), "7"))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "[1]", '[{"parallelism": "tensors", "ranks": [0]}]', '[{"parallelism": "data"}]',
     '[{"parallelism": "data", "ranks": [0, 0]}]', '[{"parallelism": "data", "ranks": [true]}]',
     '[{"parallelism": "data", "ranks": [0], "size": 1}]', '[{"parallelism": "data", "group": 7}]',
     '[{"parallelism": "data", "ranks": [0]}, {"parallelism": "tensor", "ranks": [0]}]', "[" * 100_000],
)  # fmt: skip
def test_a_file_that_states_none_is_refused_in_a_sentence(text, tmp_path):
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        read_groups(path)
    assert str(path) in refused.value.message
    assert refused.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="can't be read"):
        read_groups(tmp_path / "none.json")
