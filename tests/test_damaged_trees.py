"""What `bench.damage` does to JSON, pickles and Parquet files: each mutation does what it says."""

from __future__ import annotations

import io
import json
import pickle
import random
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.damage import tables
from bench.damage.tables import PARQUET_MUTATIONS, mutate_parquet
from bench.damage.trees import TREE_MUTATIONS, mutate_json, mutate_pickle

SAID = {"events": [{"name": "a", "ts": 1}, {"name": "b", "ts": 2.5}], "rank": 0}


@pytest.mark.parametrize(("write", "mutate"), [(json.dumps, mutate_json), (pickle.dumps, mutate_pickle)])
def test_each_mutation_of_a_tree_changes_what_it_says(
    write: Callable[[object], str | bytes], mutate: Callable[[bytearray, random.Random], str | None]
) -> None:
    told = set()
    for seed in range(60):
        plain = write(SAID)
        data = bytearray(plain if isinstance(plain, bytes) else plain.encode())
        before = bytes(data)
        done = mutate(data, random.Random(seed))
        if done is not None and bytes(data) != before:
            told.add(done)
    assert told == {mutation.__name__ for mutation in TREE_MUTATIONS}
    assert mutate(bytearray(b"\xff{"), random.Random(1)) is None


def test_each_mutation_of_a_table_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_WIDE", 5)
    out = io.BytesIO()
    pq.write_table(pa.table({"start": [1, 2, 3], "name": ["a", "b", "c"]}), out)
    told = set()
    for seed in range(60):
        data = bytearray(out.getvalue())
        done = mutate_parquet(data, random.Random(seed))
        if done is not None and bytes(data) != out.getvalue():
            told.add(done.split()[0])
    assert told == {mutation.__name__ for mutation in PARQUET_MUTATIONS}
    assert mutate_parquet(bytearray(b"PAR1"), random.Random(1)) is None
