"""What a figure is evidence of, what it was drawn from and what it says agree, for every figure."""

import re
from pathlib import Path

import numpy as np
import pytest

import paper_figures
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.data.inputs import RUN_KINDS
from paper_figures.data.training_curves import spread
from simulations.experiments import EXPERIMENTS
from tests.paper_figures.conftest import write_run
from tests.paper_figures.extensions.test_entropy_accounts import write_audit
from tests.paper_figures.extensions.test_independent_logits import audited

RUNS = {  # one of every rule that figures compare: rule, options
    "grpo": (), "aepo": (), "entropy-bonus": ("coefficient=0.015",), "entropy-advantage": (),
    "kl-cov": ("ratio=0.02",), "reference-kl": ("coefficient=0.1",), "aent": (),
}
AUDITED = "a"
"""The run of `write_audit`, and that of `audited`."""
COMMITTED = Path(paper_figures.__file__).parent / "measured"
SAMPLED, EXACT = re.compile(r"sampled groups|from samples"), re.compile(r"exact expectation|one exact "
                                                                         "step")


@pytest.fixture(scope="module")
def results(simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "simulations").symlink_to(simulated(*EXPERIMENTS) / "simulations")
    for rule, options in RUNS.items():
        write_run(folder / "runs" / rule, rule=rule, entropies=[0.8 - 0.01 * i for i in range(40)],
                  options=options)
    held = (path.name for path in COMMITTED.glob("holding-a-target*"))
    for compared in (*held, "comparisons", "forecasts", "noise"):
        (folder / compared).symlink_to(COMMITTED / compared)
    write_audit(folder)
    return folder


def told(name, finding):
    figure = FIGURES[name]
    criteria = [word for one in finding.criteria for word in (one.says, one.where)]
    return " ".join([figure.ours, figure.headline.says, *criteria])


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_drawn_and_label_inputs_and_caption_agree(name, results, tmp_path):
    """"Small transformer" over tabular data, "tabular" over model runs; words of what is not shown."""
    figure = FIGURES[name]
    if name == "independent-logits":  # other figures cannot read an audit of a kernel alone
        audited(tmp_path / "runs" / AUDITED, np.eye(6), explained_from=0)
        results = tmp_path
    with inputs.reading(results) as read:
        table = figure.data(results)
    shown = {**read.provenance, **table.attrs.get("inputs", {})}
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
    words = told(name, finding)
    assert runs or "small-sums" not in words
    if SAMPLED.search(figure.ours):
        assert "tabular, sampled" in evidence
    if EXACT.search(figure.ours):
        assert evidence & {"tabular, exact", "theory"}
    if runs:
        seeds = len({shown[one]["seed"] for one in runs})
        models = "a model|small-sums|smollm2-135m-instruct"
        assert re.search(rf"\b{len(runs)} training runs? of ({models}) \({seeds} seeds?\)",
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
