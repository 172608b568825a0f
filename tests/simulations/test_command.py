"""The command line as a user meets it: names, errors without tracebacks."""

import inspect
import json
import textwrap
from pathlib import Path

import xarray as xr

from simulations.__main__ import main, sweep
from simulations.experiments import EXPERIMENTS
from simulations.sweeps.file import read_sweep


def test_list_prints_one_name_a_line_with_its_source(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t") for line in lines] == [
        [name.replace("_", "-"), experiment.source, experiment.title]
        for name, experiment in EXPERIMENTS.items()]
    assert main(["run"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_run_writes_a_result_and_prints_its_caption(tmp_path, capsys):
    arguments = ["run", "tabular-audit", "--profile", "smoke", "--output", str(tmp_path)]
    assert main(arguments) == 0
    with xr.open_dataset(tmp_path / "tabular_audit.nc", engine="scipy") as dataset:
        caption, sizes = dataset.attrs["caption"], dict(dataset.sizes)
        assert caption in capsys.readouterr().out
        assert dataset.attrs["profile"] == "smoke"
    assert main([*arguments, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == [{
        "name": "tabular-audit", "file": str(tmp_path / "tabular_audit.nc"), "profile": "smoke",
        "seed": 0, "caption": caption, "sizes": sizes}]


def test_the_sweep_files_that_are_shown_can_be_run(tmp_path):
    """In --help and in the docs: one grid."""
    page = (Path(__file__).parents[2] / "docs/how_to/sweep.md").read_text(encoding="utf-8")
    texts = {
        "help": inspect.getdoc(sweep).partition("targets.toml:\n\n")[2].partition("\n\n")[0],
        "docs": page.partition("```toml\n")[2].partition("```")[0],
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(textwrap.dedent(text))
        found = read_sweep(path)
        assert [axis.path for axis in found.axes] == [
            "problem.n_correct", "rule.target", "dynamics.learning_rate"]
        assert len(found.points) == 18
        assert found.n_starts == 8
