"""AEnt, Figure 3: who saturates when GRPO's entropy is used up, and who goes on."""

from paper_figures.aent import figure_3_scores as figure
from paper_figures.aent import methods
from tests.paper_figures.conftest import write_run


def test_language_models_are_shown_with_the_bonus_that_ends_best(results, tmp_path, table):
    assert len(figure.draw(table).axes) == 2
    (tmp_path / "simulations").symlink_to(results / "simulations")
    runs = tmp_path / "runs"
    write_run(runs / "a", rule="grpo", entropies=[1.0, 0.5, 0.2, 0.1])
    write_run(runs / "b", rule="entropy-bonus", entropies=[1.0, 0.9, 0.8, 0.7],
              options=("coefficient=0.05",))
    write_run(runs / "c", rule="aent", entropies=[1.0, 0.6, 0.4, 0.4], options=("coefficient_high=0.1",))
    write_run(runs / "d", rule="aent", entropies=[1.0, 0.6, 0.4, 9.0], seed=1, rewards=[0.4] * 4)
    found = methods.data(tmp_path)
    assert set(found.attrs["inputs"]) == {"a", "b", "c"}  # "d": AEnt of settings that end worse
    here = found[found["world"] == methods.TRANSFORMER]
    assert set(here["method"]) == {"GRPO", "EntReg", "AEnt"}
    assert len(figure.draw(found).axes) == 3
