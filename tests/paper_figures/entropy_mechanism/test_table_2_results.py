"""Cui et al., Table 2: the printed accuracies and averages, and our runs."""

import json

from paper_figures.entropy_mechanism import table_2_results as figure
from tests.paper_figures.conftest import judged, write_run


def methods(runs, kl_cov):
    """Two seeds of GRPO and KL-Cov; the second of KL-Cov with another accuracy."""
    for seed, grpo, other in ((0, 0.5, 0.8), (1, 0.6, kl_cov)):
        write_run(runs / f"g{seed}", rule="grpo", entropies=[1.0, 0.5], rewards=[grpo] * 2, seed=seed)
        write_run(runs / f"k{seed}", rule="kl-cov", entropies=[1.0, 0.5], rewards=[other] * 2, seed=seed,
                  options=("ratio=0.02",))


def test_every_printed_average_is_wrong_and_one_order_is_reversed(tmp_path):
    """Means of the rows: 39.09 (38.6), 39.84 (38.8), 41.74 (40.4), 41.09 (40.6); 45.17 (45.8) ..."""
    means = [value for table in figure.PRINTED.values() for value in table.averages().values()]
    assert [f"{mean:.2f}" for mean in means] == [
        "39.09", "39.84", "41.74", "41.09", "45.17", "46.46", "50.63", "51.59"]
    assert judged(figure, figure.data(tmp_path)) == {"": "awaits runs"}


def test_a_seed_among_grpo_s_changes_the_verdict(tmp_path):
    """A verdict from means alone."""
    methods(tmp_path / "a" / "runs", 0.7)
    methods(tmp_path / "b" / "runs", 0.55)
    assert judged(figure, figure.data(tmp_path / "a")) == {"0.8M transformer": "seen"}
    assert judged(figure, figure.data(tmp_path / "b")) == {"0.8M transformer": "undecided"}


def test_evaluations_of_the_trained_models_become_columns(tmp_path):
    """Another task's evaluation, or one at another temperature, shown as the paper's protocol."""
    methods(tmp_path / "runs", 0.7)
    (tmp_path / "evaluations").mkdir()
    def evaluation(name, run, **values):
        model = str(tmp_path / "runs" / run / "model")
        (tmp_path / "evaluations" / f"{name}.json").write_text(json.dumps({
            "model": model, "task": "split", "num_samples": 32, "temperature": 0.6, "top_k": 0,
            "pass@1": 0.9, "avg@32": 0.9, **values}))

    evaluation("1", "k0")
    evaluation("2", "k1", **{"avg@32": 0.7})
    evaluation("3", "g0", temperature=1.0, **{"avg@32": 0.1})
    evaluation("4", "g0", task="sum", **{"avg@32": 0.1})
    evaluation("5", "g0", temperature=1.0, top_k=1, num_samples=1, **{"pass@1": 0.45})
    ours = figure.tables(figure.data(tmp_path))[-1]
    columns = dict(zip(ours.header, zip(*ours.rows, strict=True), strict=True))
    assert columns["avg@32 at T = 0.6"] == ("–", "0.800 (0.70 to 0.90)")
    assert columns["greedy"] == ("0.450", "–")
