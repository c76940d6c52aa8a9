"""A watched job as the page and Prometheus see it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import browser
from stepscope.model.errors import UserError
from stepscope.record.ring.reader import Ring, rings_in
from stepscope.record.ring.writer import RingWriter
from stepscope.record.triggers.request import claim
from stepscope.record.triggers.trigger import Trigger
from stepscope.record.watching import metrics as served
from stepscope.record.watching import watcher
from stepscope.record.watching.live import is_watched, job_now
from stepscope.record.watching.metrics import CONTENT_TYPE, metrics, serving_metrics
from stepscope.web.server import address
from stepscope.web.watched.app import create_app
from web.serving import TOKEN, answering

ABOUT = {"pid": os.getpid(), "host": os.uname().nodename, "rank": 1, "world_size": 2}
NOW = 1_800_000_000_000_000_000


@pytest.fixture
def ring(tmp_path: Path) -> RingWriter:
    """That of a rank with ten steps and two recordings, of which one is left."""
    made = RingWriter(tmp_path / ".watch" / "rank1_vm_1.ring", ABOUT, steps=64, between_ns=0)
    for number in range(10):
        add(made, number)
    made.happened({"what": "recorded", "folder": "20270101-000000-signal", "trigger": Trigger("signal", NOW).values()})
    assert claim(tmp_path, Trigger("slow step", NOW, 1, 2, 7, 30_000_000, 10_000_000), 60, "") is not None
    return made


def add(made: RingWriter, number: int) -> None:
    made.add(number, NOW + number, 10_000_000 + number, 2_000_000, 3 << 20, 4 << 20, number == 8, number + 1)


def test_what_the_page_is_told(ring: RingWriter, tmp_path: Path) -> None:
    job = job_now(tmp_path)
    [rank] = job["ranks"]
    assert (rank["rank"], rank["lives"], rank["count"], rank["usual_ns"]) == (1, True, 10, 10_000_004)
    assert rank["steps"][8] == {
        "number": 8, "end_unix_ns": NOW + 8, "length_ns": 10_000_008, "wait_ns": 2_000_000, "device_bytes": 3 << 20,
        "host_bytes": 4 << 20, "recorded": True,
    }  # fmt: skip
    assert [(one["folder"], one["there"]) for one in job["recordings"]] == [
        ("20270115-080000-slow-step-step-7", True), ("20270101-000000-signal", False),
    ]  # fmt: skip
    assert job["recordings"][0]["reason"].startswith("recorded because step 7 of rank 1 took 30.0 ms")
    assert is_watched(tmp_path)
    assert not is_watched(tmp_path / ".watch")
    json.dumps(job)


def test_a_ring_that_lies_about_its_process(tmp_path: Path) -> None:
    about = {"pid": 1 << 70, "host": ABOUT["host"], "rank": "first", "world_size": []}
    RingWriter(tmp_path / ".watch" / "a.ring", about, steps=4)
    [rank] = job_now(tmp_path)["ranks"]
    assert (rank["name"], rank["lives"]) == (f"process {1 << 70} on {ABOUT['host']}", False)


def test_the_page_shows_steps_as_they_come(ring: RingWriter, tmp_path: Path, chromium: browser.Browser) -> None:
    with answering(create_app(lambda: job_now(tmp_path), TOKEN)) as listener:
        page = chromium.page(address(listener, "127.0.0.1", TOKEN), 1280, "light", 800)
        page.eventually("document.querySelectorAll('rect.length').length === 9")
        assert page.run("document.querySelectorAll('rect.recorded').length") == 1
        assert page.run("document.getElementById('state').textContent") == "running"
        assert "step 9 took 10.0 ms" in page.run("document.querySelector('article p').textContent")
        assert page.run("[...document.querySelectorAll('li')].map(one => one.textContent)")[1].endswith("(removed)")
        add(ring, 10)
        page.eventually("document.querySelector('article p').textContent.startsWith('step 10 took')")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.complaints() == []
        page.close()


def test_the_page_in_chinese(
    ring: RingWriter, tmp_path: Path, chromium: browser.Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    with answering(create_app(lambda: job_now(tmp_path), TOKEN)) as listener:
        page = chromium.page(address(listener, "127.0.0.1", TOKEN), 1280, "light", 800)
        page.eventually("document.querySelectorAll('li').length === 2")
        assert page.run("document.documentElement.lang") == "zh-Hans"
        assert page.run("[...document.querySelectorAll('h1, h2')].map(one => one.textContent)") == [
            f"正在监视 {tmp_path}", "迭代步", "采集数据",
        ]  # fmt: skip
        assert page.run("document.querySelector('article p').textContent") == (
            "step 9 耗时 10.0 ms · 通常为 10.0 ms · 等待数据占 20.0 % · 设备上至多 3 MiB · 进程占用 4 MiB"
        )
        assert page.run("document.querySelector('li').textContent").startswith(
            "20270115-080000-slow-step-step-7：采集原因：step 7（rank 1） 耗时 30.0 ms"
        )
        assert page.run("document.querySelector('h3').textContent") == f"{ABOUT['host']} 上的 rank 1"
        said = page.run(
            "[document.title, document.body.innerText, ...[...document.querySelectorAll('title, svg')].map("
            "one => one.getAttribute('aria-label') ?? one.textContent)].join('\\n')"
        )
        rest = said.replace(str(tmp_path), "").replace(str(ABOUT["host"]), "")
        rest = re.sub(r"\d{8}-\d{6}-[\w-]+|UTC|MiB|ms|\brank\b|\b[Ss]tep\b|stepscope", "", rest)
        assert re.findall(r"[A-Za-z]{2,}", rest) == []
        assert page.complaints() == []
        page.close()


def test_the_page_asks_for_the_token_and_holds_nothing_without(ring: RingWriter, tmp_path: Path) -> None:
    with answering(create_app(lambda: job_now(tmp_path), TOKEN)) as listener:
        base = address(listener, "127.0.0.1", None)
        for name in ("", "watched.js", "watched.css"):
            assert urllib.request.urlopen(base + name).status == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(base + "api/live")
        refused.value.close()
        assert refused.value.code == 403


#: A sample of the text format 0.0.4: a name, labels whose values escape \, " and line feeds, and a number.
SAMPLE = re.compile(r'[a-z_:]+\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+\} -?[0-9.e+-]+')


def test_metrics_are_in_the_text_format(ring: RingWriter, tmp_path: Path) -> None:
    RingWriter(tmp_path / ".watch" / "b.ring", {**ABOUT, "rank": 0, "host": 'a"\\\n'}, steps=4)
    text = metrics(rings_in(tmp_path / ".watch"))
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    order: list[str] = []
    for line in text.splitlines():
        if line.startswith("# "):
            what, name, rest = line[2:].split(" ", 2)
            assert (what == "HELP" and name not in order) or (what == "TYPE" and order[-1] == name)
            if what == "HELP":
                order.append(name)
            else:
                kinds[name] = rest
            continue
        assert SAMPLE.fullmatch(line), line
        # All samples of a metric stand behind its head.
        assert re.sub(r"_(sum|count)$", "", line.partition("{")[0]) in (order[-1], re.sub(r"_count$", "", order[-1]))
    assert set(kinds.values()) <= {"counter", "gauge", "summary"}
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items())
    mine = f'{{rank="1",host="{os.uname().nodename}",pid="{os.getpid()}"'
    assert f"stepscope_step_duration_seconds_count{mine}}} 10\n" in text
    assert f"stepscope_step_duration_seconds_sum{mine}}} 0.100000045\n" in text
    assert f'stepscope_step_duration_seconds{mine},quantile="0.5"}} 0.010000005\n' in text
    assert f"stepscope_data_wait_seconds_total{mine}}} 0.02\n" in text
    assert f"stepscope_recordings_total{mine}}} 1\n" in text
    assert f"stepscope_device_memory_peak_bytes{mine}}} {3 << 20}\n" in text
    assert 'host="a\\"\\\\\\n"' in text


def test_metrics_are_served(ring: RingWriter, tmp_path: Path) -> None:
    with serving_metrics(tmp_path / ".watch", 0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE
            assert b"stepscope_step{" in answer.read()
        with pytest.raises(urllib.error.HTTPError) as unknown:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        unknown.value.close()
        with pytest.raises(UserError, match="can't listen on port"), serving_metrics(tmp_path, port):
            pass
    with serving_metrics(tmp_path, None) as port:
        assert port == 0


def test_who_goes_away_within_an_answer_is_not_told_of(
    ring: RingWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answered = threading.Event()

    def rings_and_gone(*_: object) -> list[Ring]:
        answered.set()
        raise ConnectionResetError

    monkeypatch.setattr(served, "rings_in", rings_and_gone)
    with serving_metrics(tmp_path / ".watch", 0) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert answered.wait(10)
        assert client.recv(1) == b""
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="asks for the mask of signals")
def test_what_watches_takes_no_signal_of_the_launcher(
    ring: RingWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[set[int]] = []
    seen = threading.Event()

    def look(*_: object) -> list[Ring]:
        masks.append(set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))
        seen.set()
        return []

    monkeypatch.setattr(served, "rings_in", look)
    monkeypatch.setattr(watcher, "rings_in", look)
    monkeypatch.setattr(watcher, "_BETWEEN_S", 0.001)
    watching = watcher.JobWatcher(tmp_path, None, 60.0, lambda: False)
    watching.start()
    assert seen.wait(10)
    watching.stop()
    with serving_metrics(tmp_path / ".watch", 0) as port:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").close()
    assert all({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT} <= one for one in (masks[0], masks[-1]))


def test_samples_lie_beside_recordings_of_this_run_alone(ring: RingWriter, tmp_path: Path) -> None:
    samples = tmp_path / ".watch" / "vm_1.machine.jsonl"
    later = time.time_ns() + 60_000_000_000
    samples.write_text(json.dumps({"samples": 1}) + "\n" + json.dumps({"unix_ns": later}) + "\n")
    folders = []
    for at in (1_700_000_000_000_000_000, later):
        made = claim(tmp_path, Trigger("signal", at), 0, "")
        assert made is not None
        folders.append(Path(made.folder))
        (folders[-1] / "a.pt.trace.json").touch()
    watcher.JobWatcher(tmp_path, samples, 60.0, lambda: False).stop()
    assert [(one / samples.name).exists() for one in folders] == [False, True]
