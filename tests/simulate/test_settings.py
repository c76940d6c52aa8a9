"""Parameters as text, sizes, presets and the command."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields, replace

import pytest
import typer
from typer.testing import CliRunner

from stepscope.cli.simulate import simulate as command
from stepscope.model.errors import UserError
from stepscope.simulate import FAULTS, PRESETS, SimJob, random_job, simulate
from stepscope.simulate.settings import check, with_settings
from stepscope.simulate.sizing import steps_for

app = typer.Typer()
app.command()(command)


def invoke(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_every_parameter_is_documented():
    described = inspect.getdoc(SimJob)
    for field in fields(SimJob):
        assert f"\n    {field.name}: " in described


def test_settings_take_each_type():
    job = with_settings(SimJob(), ["layers=7", "noise=0.5", "graph=yes", "device=a100", "load_ns=1_000"])
    assert (job.layers, job.noise, job.graph, job.device, job.load_ns) == (7, 0.5, True, "a100", 1000)


@pytest.mark.parametrize("setting", ["layers", "depth=3", "layers=many", "graph=perhaps", "noise=loud"])
def test_a_setting_that_is_none_is_refused(setting):
    with pytest.raises(UserError):
        with_settings(SimJob(), [setting])


@pytest.mark.parametrize("change", [{"ranks": 0}, {"load_ns": -1}, {"device": "abacus"}, {"noise": float("nan")}])
def test_a_job_out_of_range_is_refused(change):
    with pytest.raises(UserError, match=next(iter(change))):
        check(replace(SimJob(), **change))


def test_presets_and_random_jobs_are_in_range():
    for job in (*PRESETS.values(), *map(random_job, range(300))):
        check(job)
    assert len({random_job(seed).model for seed in range(50)}) == 3
    assert random_job(5) == random_job(5)


def test_steps_for_a_size_come_close(tmp_path):
    job = replace(SimJob(), steps=steps_for(SimJob(), 2_000_000))
    size = simulate(job, tmp_path / "t.json")[0].stat().st_size
    assert 1_950_000 < size < 2_350_000


def test_the_command_writes_what_it_is_told(tmp_path):
    out = tmp_path / "t.json"
    result = invoke("--out", out, "--steps", 2, "--set", "layers=1", "--fault", "item-sync", "--fault", "no-workers")
    assert result.exit_code == 0, result.output
    truth = json.loads((tmp_path / "t.truth.json").read_text())
    assert truth["faults"] == ["item-sync", "no-workers"]
    assert (truth["job"]["workers"], truth["job"]["items_per_step"], truth["job"]["steps"]) == (0, 2, 2)
    assert "SingleProcessDataLoaderIter" in out.read_text()


def test_the_command_damages_packed_files_too(tmp_path):
    result = invoke("--out", tmp_path / "t.json.gz", "--defect", "truncated")
    assert result.exit_code == 0, result.output
    assert "events remain readable" in result.output


def test_the_command_lists_what_there_is():
    result = invoke("--preset", "list")
    assert all(name in result.output for name in (*PRESETS, *FAULTS))


@pytest.mark.parametrize(
    "args", [("--preset", "huge"), ("--format", "tape"), ("--fault", "rain"), ("--defect", "dust"), ("--set", "x")]
)
def test_the_command_names_the_choices(args, tmp_path):
    result = invoke("--out", tmp_path / "t.json", *args)
    assert isinstance(result.exception, UserError)
    assert list(tmp_path.iterdir()) == []
