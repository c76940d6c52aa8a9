"""Where results go: files at once or not at all, links followed, devices and pipes written to, recordings kept."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.cli.main import run
from stepscope.cli.output import check_distinct, check_output, text_output, writing, writing_folder
from stepscope.demo import recording
from stepscope.model.errors import UserError


def write(path: Path, text: str = "done", inputs: tuple[Path, ...] = ()) -> None:
    with text_output(path, inputs) as out:
        out.write(text)


@pytest.mark.parametrize(
    ("json", "markdown", "refused"),
    [("r.txt", "r.txt", True), ("r.txt", "link.txt", True), ("r.txt", "./r.txt", True), ("-", "-", True),
     ("-", "/dev/stdout", True), ("r.txt", "r.md", False), ("-", "r.md", False), ("/dev/null", "/dev/null", False)],
)  # fmt: skip
def test_outputs_that_would_overwrite_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, json: str, markdown: str, refused: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.txt").symlink_to("r.txt")
    outputs = {"json": Path(json), "markdown": Path(markdown)}
    if not refused:
        check_distinct(outputs)
        return
    with pytest.raises(UserError, match="--json and --markdown both write to") as error:
        check_distinct(outputs)
    assert "its own" in error.value.hint


def test_a_terminal_that_knows_only_ascii_gets_plain_characters() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    with recording() as demo:
        command = [sys.executable, "-m", "stepscope", "analyze", str(demo)]
        text = subprocess.run(command, capture_output=True, check=True, env=environment).stdout.decode("ascii")
    assert " - " in text.splitlines()[1]
    assert "\\x" not in text
    assert "\\u" not in text


def test_content_of_a_recording_stays_exact_where_only_ascii_is_known() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    sql = "SELECT '5 ' || chr(181) || 's ' || chr(183) AS t"
    with recording() as demo:
        command = [sys.executable, "-m", "stepscope", "query", str(demo), sql, "--format", "csv"]
        text = subprocess.run(command, capture_output=True, check=True, env=environment).stdout.decode("ascii")
    assert text.split() == ["t", "5", "\\xb5s", "\\xb7"]


def test_a_file_appears_at_once_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("before")
    path.chmod(0o640)

    def fail() -> None:
        with text_output(path) as out:
            out.write("half")
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert path.read_text() == "before"
    write(path)
    assert path.read_text() == "done"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["r.json"]  # noqa: PTH208


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("real/r.json")
    for text in ("first", "second"):
        write(link, text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "r.json").read_text() == text
    assert os.listdir(tmp_path / "real") == ["r.json"]  # noqa: PTH208


@pytest.mark.parametrize("binary", [False, True])
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path, binary: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    if binary:
        with writing(pipe) as temporary:
            temporary.write_text("done")
    else:
        write(pipe)
    reader.join(10)
    assert received == ["done"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_stay_devices(tmp_path: Path) -> None:
    before = os.stat(os.devnull)  # noqa: PTH116
    write(Path(os.devnull))
    with writing(Path(os.devnull)) as temporary:
        temporary.write_bytes(b"workbook")
    assert os.stat(os.devnull) == before  # noqa: PTH116


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("binary", [False, True])
def test_no_room_is_one_sentence(binary: bool) -> None:
    def fill() -> None:
        if binary:
            with writing(Path("/dev/full")) as temporary:
                temporary.write_bytes(b"x" * 100_000)
        else:
            write(Path("/dev/full"), "x" * 100_000)

    with pytest.raises(UserError, match=r"^/dev/full can't be written \(No space left on device\); choose"):
        fill()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_by_another_name_is_appended_to(name: str, tmp_path: Path) -> None:
    if name.startswith("/") and not Path(name).exists():
        pytest.skip("the system has no such name")
    (tmp_path / "link").symlink_to("/dev/stdout")
    code = (
        "import sys\nfrom pathlib import Path\nfrom stepscope.cli.output import text_output, writing\n"
        "print('before')\npath = Path(sys.argv[1])\n"
        "with text_output(path) as out:\n    out.write('text\\n')\n"
        "with writing(path) as temporary:\n    temporary.write_text('binary\\n')\nprint('after')\n"
    )
    with (tmp_path / "out").open("w") as out:
        out.write("old\n")
        out.flush()
        subprocess.run([sys.executable, "-c", code, name], stdout=out, cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "old\nbefore\ntext\nbinary\nafter\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (lambda folder: folder, "is a folder; give the name of a file"),
        (lambda folder: folder / "none" / "r.json", r"r.json can't be written \(No such file or directory\)"),
        (lambda folder: folder / "file" / "r.json", r"r.json can't be written \(Not a directory\)"),
        (lambda folder: folder / ("x" * 300), r"can't be written \(File name too long\)"),
        (lambda folder: folder / "loop", r"loop can't be written \(Too many levels of symbolic links\)"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path: Path, path: Callable[[Path], Path], message: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for function in (check_output, write):
        with pytest.raises(UserError, match=message):
            function(path(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]  # noqa: PTH208


def test_a_folder_of_tables_takes_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with writing_folder(tmp_path / "out") as temporary:
        (temporary / "a").write_text("x")
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208

    def again(path: Path) -> None:
        with writing_folder(path):
            raise AssertionError("it must not be written")

    with pytest.raises(UserError, match="exists already and is no empty folder"):
        again(tmp_path / "out")
    with pytest.raises(UserError, match="can't be written"):
        again(tmp_path / "out" / "a" / "b")


@pytest.fixture
def job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "job"
    assert run(["simulate", "--out", str(folder), "--ranks", "2", "--steps", "2", "--set", "layers=1"]) == 0
    capsys.readouterr()
    return folder


def test_a_recording_of_an_input_is_never_overwritten(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = next(job.glob("rank1*.json"))
    before = recording.read_bytes()
    (job.parent / "link").symlink_to(recording)
    for output in (recording, job / ".." / "job" / recording.name, job.parent / "link"):
        assert run(["analyze", str(job), "--no-cache", "--json", str(output)]) == 2
        assert "is a recording of the input; write to another file" in capsys.readouterr().err
    assert recording.read_bytes() == before


def test_a_report_beside_its_recordings_is_no_recording(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, workbook = job / "rank7.json", job / "rank8.xlsx"
    outputs = ["--json", str(report), "--xlsx", str(workbook)]
    for _ in range(2):
        assert run(["analyze", str(job), "--no-cache", "--table", "step_budget", *outputs]) == 0
    document = json.loads(report.read_text())
    assert [line["code"] for line in document["health"] if line["severity"] == "error"] == []
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1]
    [skipped] = [line for line in document["health"] if line["code"] == "files-skipped"]
    assert (skipped["count"], skipped["message"][-22:]) == (3, "rank7.json, rank8.xlsx")
    capsys.readouterr()
    assert run(["analyze", str(report), "--table", "step_budget", "--no-cache"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "rank7.json is what stepscope wrote about recordings → the 2 recordings" in said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of file sizes are a matter of Unix")
@pytest.mark.parametrize("format", ["kineto", "nsight", "memsnapshot", "ascend"])
def test_a_simulation_without_room_leaves_nothing(tmp_path: Path, format: str) -> None:
    code = (
        "import resource, sys\nfrom stepscope.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        f"sys.exit(run(['simulate', '--format', '{format}', '--ranks', '2', '--out', sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "job")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"stepscope: {tmp_path / 'job'} can't be written (")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(sys.platform == "win32", reason="whether a process lives is asked by a signal")
def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    report, folder = tmp_path / "r.json", tmp_path / "tables"
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom stepscope.cli.output import writing, writing_folder\n"
        "with writing(Path(sys.argv[1])) as file, writing_folder(Path(sys.argv[2])) as folder:\n"
        "    file.write_text('half')\n    (folder / 'a.parquet').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(report), str(folder)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with writing(report) as going:
        going.write_text("first")
        # One that still runs is left alone.
        write(report, "second")
        assert going.read_text() == "first"
    with writing_folder(folder) as whole:
        (whole / "a.parquet").write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "tables"]
    assert report.read_text() == "first"
