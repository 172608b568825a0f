"""Guards benchmarks/sampling.py, which a GPU runs unattended: a grid, its limit, its file."""

import importlib.util
import json
from pathlib import Path

import pytest

import llm_bridge

PATH = Path(llm_bridge.__file__).parents[1] / "benchmarks" / "sampling.py"


@pytest.fixture(scope="module")
def sampling_benchmark():
    spec = importlib.util.spec_from_file_location("sampling_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_cell_of_each_sampler_is_measured_and_kept(sampling_benchmark, tmp_path, monkeypatch):
    """A sampler that stops early, a file without provenance."""
    monkeypatch.setitem(sampling_benchmark.GRIDS, "cpu", (("tiny",), (4,), (12,), 4))
    sampling_benchmark.main(["--samplers", "trl", "generate", "static", "--repeats", "1",
                    "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["provenance"]["device"] == "cpu"
    assert [record["sampler"] for record in found["records"]] == ["trl", "generate", "static"]
    for record in found["records"]:
        assert record["tokens_per_second"] > 0
        assert record["limit"] > 0
    assert "times_stock" in found["records"][1]
