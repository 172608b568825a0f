"""Guards benchmarks/head.py and sampling.py, which a GPU runs unattended: their files, and resumption."""

import importlib.util
import json
from pathlib import Path

import llm_bridge

FOLDER = Path(llm_bridge.__file__).parents[1] / "benchmarks"


def script(name):
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_head_is_measured_kept_and_not_measured_again(tmp_path, monkeypatch, capsys):
    """A call cut by the queue's budget that starts afresh each time; at collapse ours alone is exact."""
    head, path = script("head"), tmp_path / "found.json"
    monkeypatch.setattr(head, "peak_alone", lambda *_: 1.0)
    head.main(["--quick", "--repeats", "1", "--json", str(path)])
    found = json.loads(path.read_text())
    names = [record["method"] for record in found["records"]]
    assert {"ours", "ours with clamp", "verl's formula", "plain logits"} <= set(names)
    assert "with -inf not a number" in capsys.readouterr().out
    assert head.collapsed_error(head.ours, True, "cpu") < 1e-6
    # Differences of numbers near 30, where the entropy is some 1e-8.
    assert head.collapsed_error(head.verl_formula, False, "cpu") > 0.5
    monkeypatch.setattr(head, "step", None)
    head.main(["--quick", "--repeats", "1", "--json", str(path)])
    assert json.loads(path.read_text()) == found


def test_a_cell_of_each_sampler_is_measured_and_kept(tmp_path, monkeypatch):
    """A sampler that stops early, a file without provenance."""
    sampling = script("sampling")
    monkeypatch.setitem(sampling.GRIDS, "cpu", (("tiny",), (4,), (12,), 4))
    sampling.main(["--samplers", "trl", "generate", "static", "--repeats", "1",
                   "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["provenance"]["device"] == "cpu"
    assert [record["sampler"] for record in found["records"]] == ["trl", "generate", "static"]
    assert all(record["tokens_per_second"] > 0 < record["limit"] for record in found["records"])
    assert "times_stock" in found["records"][1]
