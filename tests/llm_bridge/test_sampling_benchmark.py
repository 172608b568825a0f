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
    monkeypatch.setattr(sampling_benchmark.torch.cuda, "is_available", lambda: False)
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


def test_an_interrupted_grid_goes_on_with_the_smallest_cells_first(
    sampling_benchmark, tmp_path, monkeypatch
):
    """A job that is cut at every budget and starts afresh; cells of another version kept."""
    monkeypatch.setattr(sampling_benchmark.torch.cuda, "is_available", lambda: False)
    monkeypatch.setitem(sampling_benchmark.GRIDS, "cpu", (("tiny",), (4, 64), (24, 12), 4))
    asked = []

    def cell(name, model, batch, context, new, repeats):
        if len(asked) == 5:
            raise KeyboardInterrupt
        asked.append((batch, context, name))
        return {"tokens_per_second": 2.0 if name == "trl" else 6.0, "decoded_per_second": None}

    monkeypatch.setattr(sampling_benchmark, "cell", cell)
    rates = iter([1e9, 2e9])
    monkeypatch.setattr(sampling_benchmark, "bandwidth", lambda device: next(rates))
    path = tmp_path / "found.json"
    call = ["--samplers", "trl", "generate", "--json", str(path)]
    with pytest.raises(KeyboardInterrupt):
        sampling_benchmark.main(call)
    first = json.loads(path.read_text())
    asked.insert(0, None)  # lets three more through
    sampling_benchmark.main(call)
    found = json.loads(path.read_text())
    assert asked[1:] == [(batch, context, name) for batch, context in
                         ((4, 12), (4, 24), (64, 12), (64, 24)) for name in ("trl", "generate")]
    assert found["records"][:5] == first["records"]
    assert found["bytes_per_second"] == first["bytes_per_second"]
    # Its stock was measured before the interruption.
    assert found["records"][5]["times_stock"] == 3.0
    found["provenance"]["versions"]["torch"] = "0.1"
    path.write_text(json.dumps(found))
    sampling_benchmark.main(call)
    assert len(asked) == 1 + 8 + 8
    assert json.loads(path.read_text())["bytes_per_second"] == 2e9


def test_the_limit_counts_weights_once_and_every_sequences_keys_and_values(sampling_benchmark):
    """By hand: one sequence of the 135M shape reads 2 x 30 layers x 3 heads x 64 numbers a position."""
    config = sampling_benchmark.transformers.LlamaConfig(**sampling_benchmark.SHAPES["135M"])
    kept = 2 * 30 * 3 * 64
    assert 2 * config.num_key_value_heads * config.head_dim * config.num_hidden_layers == kept
    model = sampling_benchmark.build("tiny", "cpu", 32)
    weights = sum(p.numel() for p in model.parameters()) * 4
    cache = 8 * (32 - 8) * 4 * (2 * 2 * 16) * 4
    assert sampling_benchmark.limit(model, 8, 32, 16, 1e9) == pytest.approx(8e9 / (weights + cache))


def test_what_does_not_fit_in_memory_says_so(sampling_benchmark, monkeypatch):
    def full(*_):
        raise sampling_benchmark.torch.OutOfMemoryError

    monkeypatch.setattr(sampling_benchmark, "seconds", full)
    assert sampling_benchmark.cell("static", None, 8, 32, 16, 1) == {"absent": "out of memory"}
