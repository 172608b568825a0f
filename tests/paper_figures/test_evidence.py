"""Holds every figure's evidence, inputs and words to each other, and its numbers to numbers.json.

`python -m tests.paper_figures.test_evidence` writes numbers.json anew.
"""

import json
import numbers
import re
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import paper_figures
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.data.inputs import RUN_KINDS
from paper_figures.data.training_curves import spread
from paper_figures.verdict import Number, exact
from simulations.computing.store import result
from simulations.experiments import EXPERIMENTS
from tests.paper_figures.conftest import write_run
from tests.paper_figures.extensions.test_entropy_accounts import write_audit
from tests.paper_figures.extensions.test_independent_logits import audited
from tests.simulations.test_experiments import fingerprint

RUNS = {  # one of every rule that figures compare: rule, options
    "grpo": (), "aepo": (), "entropy-bonus": ("coefficient=0.015",), "entropy-advantage": (),
    "kl-cov": ("ratio=0.02",), "reference-kl": ("coefficient=0.1",), "aent": (),
}
AUDITED = "a"
"""The run of `write_audit`, and that of `audited`."""
COMMITTED = Path(paper_figures.__file__).parent / "measured"
SAMPLED, EXACT = re.compile(r"sampled groups|from samples"), re.compile(r"exact expectation|one exact "
                                                                         "step")


FILE = Path(__file__).with_name("numbers.json")
KEPT = json.loads(FILE.read_text())
ROUNDING = 1e-3
"""Relative: of a column its root mean square, of a criterion's number itself. Fits end where their
tolerance lets them, and slopes of simulations agree to 1e-4."""


def filled(folder, simulations):
    """A results folder with these simulations, a run of every rule, and what is committed."""
    (folder / "simulations").symlink_to(simulations)
    for rule, options in RUNS.items():
        write_run(folder / "runs" / rule, rule=rule, entropies=[0.8 - 0.01 * i for i in range(40)],
                  options=options)
    held = (path.name for path in COMMITTED.glob("holding-a-target*"))
    for compared in (*held, "comparisons", "forecasts", "noise"):
        (folder / compared).symlink_to(COMMITTED / compared)
    write_audit(folder)
    return folder


@pytest.fixture(scope="module")
def results(simulated, tmp_path_factory):
    return filled(tmp_path_factory.mktemp("evidence"), simulated(*EXPERIMENTS) / "simulations")


def is_pinned(shown):
    """Whether nothing shown is a committed measurement, which is made anew now and then."""
    return all(one.startswith("simulations/") or one in (*RUNS, AUDITED, "entropy_theory")
               or value == "printed in the paper" for one, value in shown.items())


def code(value):
    return value if isinstance(value, numbers.Number) or value is None else float(
        zlib.crc32(str(value).encode()) % 997)


def numbers_of(figure, table, finding):
    """Each column plotted, with a number for each text, and what each criterion compares."""
    columns = fingerprint(table.reset_index(drop=True).map(code).astype(float).to_xarray())
    criteria = []
    for one in finding.criteria:
        found = one.value if isinstance(one.value, Number) else exact(one.value)
        sizes = one.threshold, found.value, found.low, found.high
        criteria.append([one.where, one.relation, one.model, one.beyond, found.seeds,
                         *(float(f"{size:.9g}") for size in sizes)])
    return {"columns": columns, "criteria": criteria, "verdicts": figure.verdicts(finding)}


def assert_kept(name, found):
    """Mixed up coordinates, other rows, a mean over others, a threshold, an interval, a verdict."""
    kept = KEPT[name]
    assert found["columns"].keys() == kept["columns"].keys()
    for column, (count, size, *sums) in found["columns"].items():
        assert count == kept["columns"][column][0], column
        assert [size, *sums] == pytest.approx(
            kept["columns"][column][1:], rel=0, abs=ROUNDING * size + 1e-12), column
    assert found["verdicts"] == kept["verdicts"]
    assert [one[:5] for one in found["criteria"]] == [one[:5] for one in kept["criteria"]]
    for own, other in zip(found["criteria"], kept["criteria"], strict=True):
        assert own[5:] == pytest.approx(other[5:], rel=ROUNDING, abs=1e-9, nan_ok=True)


def told(name, finding):
    figure = FIGURES[name]
    criteria = [word for one in finding.criteria for word in (one.says, one.where)]
    return " ".join([figure.ours, figure.headline.says, *criteria])


def seen(name, results, folder):
    """Return the files that a figure read, its table, and the provenance of all that it shows."""
    if name == "independent-logits":  # other figures cannot read an audit of a kernel alone
        audited(folder / "runs" / AUDITED, np.eye(6), explained_from=0)
        results = folder
    with inputs.reading(results) as read:
        table = FIGURES[name].data(results)
    return read, table, {**read.provenance, **table.attrs.get("inputs", {})}


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_drawn_and_label_inputs_and_caption_agree(name, results, tmp_path):
    """"Small transformer" over tabular data, "tabular" over model runs; words of what is not shown."""
    figure = FIGURES[name]
    read, table, shown = seen(name, results, tmp_path)
    evidence = set(read.evidence(shown))
    runs = [one for one in shown if one in (*RUNS, AUDITED) or ", seed " in one]
    assert bool(runs) == bool(evidence & set(RUN_KINDS))
    assert ("the paper's numbers" in evidence) == any(
        value == "printed in the paper" for value in shown.values())
    for one in shown:
        if one.startswith("simulations/"):
            of_it = {f"tabular, {mode}" for mode in EXPERIMENTS[Path(one).stem].modes}
            assert evidence & of_it
    assert figure.draw is None or figure.draw(table).axes
    assert all(found.rows for found in (figure.tables(table) if figure.tables else ()))
    finding = figure.finding(table)
    assert (name in KEPT) == is_pinned(shown), "python -m tests.paper_figures.test_evidence writes it"
    if name in KEPT:
        assert_kept(name, numbers_of(figure, table, finding))
    words = told(name, finding)
    assert runs or "small-sums" not in words
    if SAMPLED.search(figure.ours):
        assert "tabular, sampled" in evidence
    if EXACT.search(figure.ours):
        assert evidence & {"tabular, exact", "theory"}
    if runs:
        seeds = len({shown[one]["seed"] for one in runs})
        model = "(a model|small-sums|smollm2-135m-instruct)"
        assert re.search(rf"\b{len(runs)} training runs? of {model}( and {model})? \({seeds} seeds?\)",
                         read.described(shown))
    assert not re.search("simulations [^;]*_", read.described(shown))  # names as they are typed


def test_what_was_not_read_is_no_input(tmp_path):
    """A run named as an input by hand, of which nobody knows what it is."""
    with inputs.reading(tmp_path) as read:
        inputs.theory()
    with pytest.raises(ValueError, match="shown, but not read: a run"):
        read.evidence({"a run": {}})


@pytest.mark.parametrize(("model", "device", "kinds"), [
    ("small-sums", "cpu", ("small transformer",)),
    ("build/runs/small-sums-split-grpo/model", "cpu", ("small transformer",)),
    ("smollm2-135m-instruct", "cpu", ("pretrained model",)),
    ("Qwen/Qwen2.5-7B", "NVIDIA H100", ("pretrained model", "measured on a GPU")),
])
def test_a_run_is_evidence_of_its_model_and_device(model, device, kinds, tmp_path):
    write_run(tmp_path / "runs" / "r", rule="grpo", entropies=[1.0], model=model, device=device)
    (run,) = inputs.training_runs(tmp_path)
    assert run.kinds == kinds


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_say_whether_they_draw_samples(name):
    """A mode that is declared and not there: what draws samples takes them from the engine."""
    experiment = EXPERIMENTS[name]
    file = Path(str(__import__(experiment.compute.__module__, fromlist=["x"]).__file__))
    assert ("simulations.engine.sampling" in file.read_text()) == ("sampled" in experiment.modes)


def test_one_seed_has_no_spread():
    """"0.46 ± 0.00" of a single run."""
    assert spread(0.46, 0.46, 0.46, 1, 2) == "0.46"
    assert spread(0.46, 0.4, 0.5, 2, 2) == "0.46 (0.40 to 0.50)"


def written(folder, names):
    """numbers.json, one column or criterion a line; with names, other figures stay as they are."""
    kept = json.loads(FILE.read_text()) if names else {}
    for experiment in EXPERIMENTS.values():
        result(experiment, folder / "small", profile="smoke")
    results, made = filled(folder, folder / "small"), {}
    for name, figure in FIGURES.items():
        if names and name not in names:
            made |= {name: kept[name]} if name in kept else {}
            continue
        _, table, shown = seen(name, results, folder / "audited")
        if is_pinned(shown):
            made[name] = numbers_of(figure, table, figure.finding(table))
    return re.sub(r"\[\s+([^][]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]",
                  json.dumps(made, indent=1, ensure_ascii=False)) + "\n"


if __name__ == "__main__":
    inputs.MEASURED = Path("no measurements")
    with tempfile.TemporaryDirectory() as temporary:
        FILE.write_text(written(Path(temporary), sys.argv[1:]))
