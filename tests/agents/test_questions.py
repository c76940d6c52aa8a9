"""Twenty questions that people ask of recordings, each answered by at most three calls of a client, from known jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from stepscope.agents.bounds import MOST
from stepscope.agents.opened import Recordings
from stepscope.agents.server import server_of
from stepscope.ingest import Options, open_trace
from stepscope.planning.api import plan
from stepscope.simulate import SimJob, simulate

_SMALL = {"steps": 5, "layers": 2}
#: Recordings with a known fault: the job, the format and the fault.
JOBS: dict[str, tuple[SimJob, str, tuple[str, ...]]] = {
    "loader": (SimJob(**_SMALL), "kineto", ("slow-loader",)),  # type: ignore[arg-type]
    "items": (SimJob(**_SMALL), "kineto", ("item-sync",)),  # type: ignore[arg-type]
    "plain": (SimJob(**_SMALL), "kineto", ()),  # type: ignore[arg-type]
    "ranks": (SimJob(steps=3, layers=1, ranks=2), "kineto", ("slow-rank",)),
    "memory": (SimJob(steps=6, layers=1, leak_bytes=1_900_000), "memsnapshot", ("allocator-churn",)),
}

Call = tuple[str, dict[str, Any]]
Answers = list[Any]


def column(answer: Any, name: str) -> list[Any]:
    at = [one["name"] for one in answer["columns"]].index(name)
    return [row[at] for row in answer["rows"]]


#: Question, calls, and what the last answer must say.
QUESTIONS: dict[str, tuple[list[Call], Callable[[Answers], bool]]] = {
    "which recordings are there": (
        [("recordings", {})],
        lambda a: a[-1]["recordings"] == list(JOBS),
    ),
    "what ran": (
        [("overview", {"recording": "loader"})],
        lambda a: "PyTorch training" in a[-1]["facts"],
    ),
    "on which device": (
        [("overview", {"recording": "plain"})],
        lambda a: a[-1]["ranks"][0]["device"] == "NVIDIA H100 80GB HBM3",
    ),
    "how long is a step": (
        [("overview", {"recording": "plain"})],
        lambda a: 1_000_000 < a[-1]["step"]["ns"] < 2_000_000,
    ),
    "how much of it is idle": (
        [("overview", {"recording": "plain"})],
        lambda a: a[-1]["budget"][0]["idle"]["words"].endswith("of the step"),
    ),
    "what is the slowest thing of the job with a slow loader": (
        [("overview", {"recording": "loader"})],
        lambda a: a[-1]["findings"][0]["code"] == "DAT001",
    ),
    "what would its mending save": (
        [("finding", {"recording": "loader", "code": "DAT001"})],
        lambda a: a[-1]["saves"]["ns"] > 10_000_000,
    ),
    "what is to be done about it": (
        [("finding", {"recording": "loader", "code": "DAT001"})],
        lambda a: "workers" in a[-1]["actions"][0]["text"],
    ),
    "how is that decided": (
        [("rule", {"name": "DAT001"})],
        lambda a: bool(a[-1]["documentation"]["How it decides"]) and bool(a[-1]["thresholds"]),
    ),
    "does the program wait for the device": (
        [("findings", {"recording": "items", "family": "synchronisation"})],
        lambda a: column(a[-1], "code") == ["SYN002"],
    ),
    "which call waits, and how often": (
        [("table", {"recording": "items", "name": "synchronisations", "sort": "total_ns", "limit": 1})],
        lambda a: column(a[-1], "count")[0] > 0,
    ),
    "which kernel takes most of the device": (
        [("table", {"recording": "plain", "name": "kernels", "sort": "total_ns", "limit": 1})],
        lambda a: len(column(a[-1], "name")) == 1 and column(a[-1], "total_ns")[0] > 0,
    ),
    "what would gemms of twice the speed bring": (
        [("what_if", {"recording": "plain", "scale": ["kernel:gemm=0.5"]})],
        lambda a: a[-1]["changes"][0]["step_then"]["ns"] <= a[-1]["changes"][0]["step_now"]["ns"],
    ),
    "what is worth most": (
        [("what_if", {"recording": "loader"})],
        lambda a: a[-1]["changes"][0]["change"] == "--remove data_wait",
    ),
    "which rank is slow": (
        [("table", {"recording": "ranks", "name": "slow_ranks"})],
        lambda a: 1 in column(a[-1], "rank"),
    ),
    "does memory grow": (
        [("findings", {"recording": "memory", "family": "memory"})],
        lambda a: "MEM006" in column(a[-1], "code"),
    ),
    "which line empties the allocator's cache": (
        [("finding", {"recording": "memory", "code": "MEM005"})],
        lambda a: "job/train.py" in a[-1]["title"],
    ),
    "is one recording faster than another": (
        [("compare", {"base": "items", "new": "plain"})],
        lambda a: a[-1]["verdict"] == "faster",
    ),
    "what is the difference made of": (
        [("compare", {"base": "items", "new": "plain"})],
        lambda a: a[-1]["parts"][0]["part"] == "idle.synchronisation",
    ),
    "how many kernels ran": (
        [
            ("schema", {"table": "kernels"}),
            ("sql", {"recording": "plain", "query": "SELECT count(*) AS n FROM kernels WHERE kind = 'compute'"}),
        ],
        lambda a: column(a[-1], "n")[0] > 100,
    ),
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recordings]:
    folder = tmp_path_factory.mktemp("jobs")
    for name, (job, kind, faults) in JOBS.items():
        simulate(job, folder / name, kind, faults=faults)
    offered = Recordings(
        [folder / name for name in JOBS], lambda path: open_trace([path], Options(cache=False, locked=True))
    )
    yield offered
    offered.close()


def asked(recordings: Recordings, calls: list[Call]) -> list[tuple[bool, str]]:
    """Whether each call failed, and its text."""

    async def ask() -> list[tuple[bool, str]]:
        async with Client(server_of(recordings)) as client:
            found = [await client.call_tool(name, given) for name, given in calls]
            return [(bool(one.is_error), one.content[0].text) for one in found]  # type: ignore[union-attr]

    return anyio.run(ask)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered(recordings: Recordings, question: str) -> None:
    calls, right = QUESTIONS[question]
    assert len(calls) <= 3
    found = asked(recordings, calls)
    assert not any(failed for failed, _ in found), found
    assert all(len(text) <= MOST for _, text in found)
    assert right([json.loads(text) for _, text in found])


def test_there_are_twenty() -> None:
    assert len(QUESTIONS) == 20


def test_the_guide_leads_from_a_symptom_and_from_a_recording(recordings: Recordings) -> None:
    by_words, by_numbers = asked(
        recordings, [("guide", {"symptom": "GPU at 40 %"}), ("guide", {"recording": "loader"})]
    )
    assert json.loads(by_words[1])["place"] == "step"
    assert json.loads(by_numbers[1])["place"] == "data"
    assert "DAT001" in json.loads(by_numbers[1])["text"]


def test_a_plan_is_the_one_that_python_gives(recordings: Recordings) -> None:
    given = {"model": "llama3-8b", "devices": 8, "device": "h100", "choices": {"seq": 8192, "global_batch": 64}}
    [(failed, text)] = asked(recordings, [("plan", given)])
    answer = json.loads(text)
    best = plan("llama3-8b", devices=8, device="h100", seq=8192, global_batch=64).plans[0]
    assert not failed
    assert (answer["plans"][0]["tp"], answer["plans"][0]["step_ns"]) == (best.layout.tp, best.step_ns)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("guide", {"symptom": "purple"}), "the guide has nothing on"),
        (("plan", {"model": "/etc/passwd", "devices": 8, "device": "h100"}), "no preset is called"),
        (("plan", {"model": "llama3-8b", "devices": 0, "device": "h100"}), "at least 1"),
        (("plan", {"model": {"layers": "x"}, "devices": 8, "device": "h100"}), "layers"),
        (("plan", {"model": "llama3-8b", "devices": 8, "device": "h100", "choices": {"tpp": 2}}), "did you mean tp"),
        (("overview", {"recording": "/etc/passwd"}), "no recording is called"),
        (("overview", {"recording": "../plain"}), "no recording is called"),
        (("overview", {}), "several recordings are open; choose from"),
        (("finding", {"recording": "loader", "code": "DAT002"}), "did you mean DAT001"),
        (("table", {"recording": "plain", "name": "kernel"}), "did you mean kernels"),
        (("table", {"recording": "plain", "name": "kernels", "sort": "totl_ns"}), "did you mean total_ns"),
        (("table", {"recording": "plain", "name": "kernels", "where": "x"}), "`where` is COLUMN=VALUE"),
        (("table", {"recording": "plain", "name": "kernels", "limit": 100_000}), "limit is 1 to 200"),
        (("sql", {"recording": "plain", "query": "SELECT * FROM read_csv('/etc/passwd')"}), "calls read_csv"),
        (("sql", {"recording": "plain", "query": "COPY events TO '/tmp/x'"}), "queries only read"),
        (("sql", {"recording": "plain", "query": " "}), "the query is empty"),
        (("what_if", {"recording": "plain", "remove": ["nothing"]}), "nothing"),
        (("compare", {"base": "plain", "new": "plain"}), "the same recording"),
        (("rule", {"name": "DAT999"}), "no rule or remedy is called"),
        (("schema", {"table": "event"}), "did you mean events"),
        (("findings", {"recording": "plain", "family": "cpu"}), "no family is called"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why_and_what_to_call(recordings: Recordings, call: Call, said: str) -> None:
    [(failed, text)] = asked(recordings, [call])
    assert failed
    assert said in text


def test_long_answers_are_paged(recordings: Recordings) -> None:
    seen: list[int] = []
    offset, given = 0, {"recording": "plain", "query": "SELECT id, name FROM events ORDER BY id", "limit": 200}
    for _ in range(3):
        [(_, text)] = asked(recordings, [("sql", {**given, "offset": offset})])
        answer = json.loads(text)
        seen += column(answer, "id")
        assert answer["next"].endswith(f"offset={len(seen)})")
        offset = len(seen)
    everything = recordings.get("plain").trace.columns("SELECT id FROM events ORDER BY id")["id"].tolist()
    assert seen == everything[: len(seen)]
    assert len(seen) > 300


def test_a_value_of_any_length_fits(recordings: Recordings) -> None:
    query = "SELECT repeat('x', 1000000) AS text, range(100000) AS list FROM range(5)"
    [(failed, text)] = asked(recordings, [("sql", {"recording": "plain", "query": query})])
    assert not failed
    assert len(text) <= MOST


def test_names_are_the_shortest_that_tell_paths_apart(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "trace.json", tmp_path / "b" / "trace.json", tmp_path / "other.json"]
    offered = Recordings(paths, lambda path: pytest.fail(f"{path} is opened"))
    assert [one.name for one in offered.offered] == ["a/trace.json", "b/trace.json", "other.json"]
