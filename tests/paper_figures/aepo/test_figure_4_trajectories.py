"""AEPO, Figure 4: which rules keep entropy, as plotted."""

from paper_figures.aepo import figure_4_trajectories as figure
from tests.paper_figures.conftest import judged, outcomes, write_run


def test_runs_are_judged_by_their_seeds(simulated, tmp_path):
    """A run at .23 nats under a target of .5 that is drawn and changes nothing; one seed that decides."""
    (tmp_path / "simulations").symlink_to(simulated("aepo_figure_3") / "simulations")
    for seed, verdict in ((0, "undecided"), (1, "seen in part")):
        for task, end in (("split", 0.47), ("sum", 0.23)):
            for rule, entropies in (("grpo", [0.9] * 5 + [0.2] * 35), ("aepo", [end] * 40)):
                write_run(tmp_path / "runs" / f"{rule}-{task}-{seed}", rule=rule, entropies=entropies,
                          task=task, seed=seed)
        table = figure.data(tmp_path)
        assert judged(figure, table)["0.8M transformer"] == verdict
    assert outcomes(figure, table, "small-sums on sum, 40 steps, CPU: distance") == ["not seen"]
