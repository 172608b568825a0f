"""Guards benchmarks/head.py, which a GPU runs unattended: errors at collapse, file, resumption."""

import importlib.util
import json
from pathlib import Path

import pytest

import llm_bridge
from tests.llm_bridge.test_head import exact_entropy

PATH = Path(llm_bridge.__file__).parents[1] / "benchmarks" / "head.py"


@pytest.fixture(scope="module")
def head_benchmark():
    spec = importlib.util.spec_from_file_location("head_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("masked", [False, True])
def test_at_collapse_ours_is_exact_and_the_others_are_not(head_benchmark, masked):
    """A comparison that does not show why the head is written as it is; a reference that is off too."""
    hidden, weight, ids = head_benchmark.collapsed(4096, masked, "cpu")
    logits = (hidden @ weight.T)[0].tolist()
    exact = exact_entropy(logits)
    found = head_benchmark.ours(hidden, weight, ids)[1].item()
    assert found == pytest.approx(exact, rel=1e-6)
    # Both near 1e-7, and each the difference of 1 and a quotient: 2e-16 and the reference's own rounding.
    assert head_benchmark.collapsed_error(head_benchmark.ours, masked, "cpu") == pytest.approx(
        abs(found / exact - 1), abs=1e-12)
    assert head_benchmark.collapsed_error(head_benchmark.ours_clamped, masked, "cpu") < 1e-6
    # Differences of numbers near 30, where the entropy is some 1e-8; 0 times -inf.
    off = head_benchmark.collapsed_error(head_benchmark.verl_formula, masked, "cpu")
    assert off is None if masked else off > 0.5


def test_a_size_is_measured_kept_and_not_measured_again(head_benchmark, tmp_path, monkeypatch, capsys):
    """A call cut by the queue's budget that starts afresh each time."""
    monkeypatch.setattr(head_benchmark, "peak_alone", lambda *_: 1.0)
    path = tmp_path / "found.json"
    head_benchmark.main(["--quick", "--repeats", "1", "--json", str(path)])
    found = json.loads(path.read_text())
    names = [record["method"] for record in found["records"]]
    assert {"ours", "ours with clamp", "verl's formula", "plain logits"} <= set(names)
    assert "with -inf not a number" in capsys.readouterr().out
    monkeypatch.setattr(head_benchmark, "step", None)
    head_benchmark.main(["--quick", "--repeats", "1", "--json", str(path)])
    assert json.loads(path.read_text()) == found
