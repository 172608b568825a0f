"""AEnt, Table 1: what the printed numbers say, and what the rerun says."""

import pytest

from paper_figures.aent import table_1_benchmarks as figure
from tests.paper_figures.conftest import judged, outcomes, write_run


@pytest.mark.parametrize(("low", "high", "outcome"), [
    (0.001, 0.05, "seen"), (-0.01, 0.05, "undecided"), (-0.05, -0.001, "not seen")])
def test_a_lead_counts_with_its_interval_and_decides_nothing_about_aent(table, low, high, outcome):
    """A mean that decides; AEnt, whose coefficient adapts, judged by a constant one."""
    table.loc[table["row"] == figure.LEAD, ["low", "high"]] = [low, high]
    assert set(outcomes(figure, table)) == {outcome}
    assert judged(figure, table) == {"": "beyond the paper"}
    assert figure.reported(table) == pytest.approx(0.0157, abs=5e-5)  # .4012 - .3855, setting (a)


def test_language_models_are_judged_by_all_of_their_seeds(results, tmp_path):
    """One seed that decides; seeds that overlap."""
    (tmp_path / "simulations").symlink_to(results / "simulations")
    for seed, verdict in ((0, "undecided"), (1, "seen")):
        for rule, reward in (("grpo", 0.5), ("aent", 0.6)):
            write_run(tmp_path / "runs" / f"{rule}{seed}", rule=rule, entropies=[1.0, 0.5],
                      rewards=[reward] * 2, seed=seed)
        assert judged(figure, figure.data(tmp_path)) == {"0.8M transformer": verdict}
    write_run(tmp_path / "runs" / "grpo2", rule="grpo", entropies=[1.0, 0.5], rewards=[0.7] * 2, seed=2)
    assert judged(figure, figure.data(tmp_path)) == {"0.8M transformer": "undecided"}
