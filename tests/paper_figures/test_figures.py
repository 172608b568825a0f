"""The numbers that figures plot, and the findings drawn from them, as inequalities."""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import paper_figures.aepo
import paper_figures.extensions
from paper_figures.aepo import figure_1, figure_2, figure_3
from paper_figures.catalog import FIGURES
from paper_figures.extensions import audit, training
from paper_figures.figure import FORMATS, MissingInputError, build
from tests.paper_figures.conftest import write_run


def test_every_figure_file_is_in_the_catalog() -> None:
    """A figure that no command can build and no report shows."""
    for package in (paper_figures.aepo, paper_figures.extensions):
        for module in pkgutil.iter_modules(package.__path__):
            figure = importlib.import_module(f"{package.__name__}.{module.name}").FIGURE
            assert FIGURES[figure.name] is figure


class TestFigure1:
    def test_no_target_above_the_ceiling_is_held(self, smoke_results: Path) -> None:
        """Claim aepo.arbitrary-entropy, as the figure reports it."""
        table = figure_1.data(smoke_results)
        found = figure_1.finding(table)
        assert found.numbers["targets at or above the ceiling"] > 0
        assert found.numbers["held at or above the ceiling"] == 0
        assert found.verdict != "reproduces"

    def test_alpha_below_its_threshold_holds_fewer_targets(self, smoke_results: Path) -> None:
        """The scan over alpha, turned round."""
        tail = figure_1.data(smoke_results).query("panel == 'tail' and right_answers == 4")
        held = tail[tail["target"] < np.log(4)].groupby("alpha")["held"].mean()
        assert held.iloc[0] <= held.iloc[-1]

    def test_curves_are_those_of_the_simulation(self, smoke_results: Path) -> None:
        """Coordinates mixed up on the way from dataset to table."""
        table = figure_1.data(smoke_results).query("panel == 'curve'")
        dataset = xarray.load_dataset(smoke_results / "simulations" / "aepo_figure_1.nc")
        row = table.iloc[len(table) // 2]
        expected = dataset.entropy.sel(
            right_answers=row["right_answers"], start=row["start"], target=row["target"],
            step=row["x"],
        )
        assert row["y"] == pytest.approx(float(expected), rel=1e-12)
        assert table["x"].max() == dataset.step.max()

    def test_a_held_target_above_the_ceiling_changes_the_verdict(self, smoke_results: Path) -> None:
        """A verdict typed in instead of derived."""
        table = figure_1.data(smoke_results)
        rows = (table["panel"] == "tail") & (table["target"] > 1.9)
        table.loc[rows, "held"] = True
        assert figure_1.finding(table).verdict == "reproduces"

    def test_transformer_runs_with_several_targets_get_a_panel(
        self, smoke_results: Path, tmp_path: Path
    ) -> None:
        """One target is no comparison; other alphas and rules do not belong in it."""
        shutil.copytree(smoke_results / "simulations", tmp_path / "simulations")
        runs = tmp_path / "runs"
        write_run(runs / "a", rule="aepo", entropies=[0.8, 0.5, 0.5])
        assert figure_1.data(tmp_path).query("panel == 'transformer'").empty
        write_run(runs / "b", rule="aepo", entropies=[0.8, 0.3, 0.3], options=("target=0.3",))
        write_run(runs / "c", rule="aepo", entropies=[0.8, 2.0, 2.0], options=("alpha=9",))
        write_run(runs / "d", rule="grpo", entropies=[0.8, 0.1, 0.0])
        table = figure_1.data(tmp_path)
        assert set(table.query("panel == 'transformer'")["target"]) == {0.5, 0.3}
        assert len(figure_1.draw(table).axes) == 6


class TestFigure2:
    def test_on_solved_prompts_temperature_steers_and_rises_are_slower(
        self, smoke_results: Path
    ) -> None:
        """The paper's finding, where it holds."""
        numbers = figure_2.finding(figure_2.data(smoke_results)).numbers
        assert numbers["solved: T = 1.2 raises"] == 1
        assert numbers["solved: T = 0.8 lowers"] == 1
        assert 0 < numbers["solved: rise over fall"] < 1

    def test_with_one_right_answer_the_sign_never_depends_on_temperature(
        self, smoke_results: Path
    ) -> None:
        """Corollary 4.4 read as absolute."""
        found = figure_2.finding(figure_2.data(smoke_results))
        assert found.numbers["one right answer: sign depends on T"] == 0
        assert found.verdict == "reproduces in part"

    def test_a_wrong_sign_on_solved_prompts_is_no_reproduction(self, smoke_results: Path) -> None:
        """A verdict typed in instead of derived."""
        table = figure_2.data(smoke_results)
        table.loc[table["panel"] == "rate", "y"] *= -1
        assert figure_2.finding(table).verdict == "does not reproduce"


class TestFigure3:
    def test_more_bonus_means_more_entropy_and_less_reward(self, smoke_results: Path) -> None:
        """Settings and values out of step with each other."""
        table = figure_3.data(smoke_results).query("method == 'bonus'")
        for size in table["right_answers"].unique():
            here = table[table["right_answers"] == size]
            entropy = here[here["panel"] == "entropy"].groupby("setting")["y"].median()
            reward = here[here["panel"] == "reward"].groupby("setting")["y"].median()
            assert entropy.iloc[-1] > entropy.iloc[0]
            assert reward.iloc[-1] < reward.iloc[0]

    def test_the_extremes_and_control_are_what_the_verdict_says(self, smoke_results: Path) -> None:
        """A verdict that does not look at AEPO."""
        table = figure_3.data(smoke_results)
        found = figure_3.finding(table)
        assert found.numbers["|A*| = 4: AEPO targets held"] == 1
        assert found.numbers["|A*| = 1: AEPO targets held"] == 0
        assert found.numbers["|A*| = 4: AEPO lowest reward"] > 0.95
        table.loc[(table["method"] == "aepo") & (table["panel"] == "entropy"), "y"] = 0.0
        assert figure_3.finding(table).verdict == "does not reproduce"


class TestTraining:
    def test_ends_are_means_of_the_first_and_last_tenth(self, tmp_path: Path) -> None:
        """Means over the wrong steps, or rules swapped."""
        falling = [1.0] * 20 + [0.5] * 60 + [0.1] * 20
        write_run(tmp_path / "runs" / "g", rule="grpo", entropies=falling)
        write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0] * 20 + [0.5] * 80)
        found = training.finding(training.data(tmp_path))
        assert found.numbers["split grpo entropy first"] == pytest.approx(1.0)
        assert found.numbers["split grpo entropy last"] == pytest.approx(0.1)
        assert found.numbers["split aepo entropy last"] == pytest.approx(0.5)
        assert "1.00 to 0.10 nats under GRPO and to 0.50 under AEPO" in found.headline

    def test_every_reward_curve_has_its_constant_answer_line(self, tmp_path: Path) -> None:
        """A reward curve without the score of a constant answer."""
        write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
        write_run(tmp_path / "runs" / "s", rule="grpo", task="sum", entropies=[1.0, 0.5])
        figure = training.draw(training.data(tmp_path))
        rewards = [axes for axes in figure.axes if axes.get_ylim() == (0, 1.02)]
        assert len(rewards) == 2
        for axes in rewards:
            levels = [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
            assert 0.125 in levels

    def test_unfinished_measured_and_other_runs_are_left_out(
        self, tmp_path: Path, no_measured_runs: Path
    ) -> None:
        """Runs of other settings averaged into a curve."""
        write_run(tmp_path / "runs" / "ok", rule="grpo", entropies=[1.0, 0.5], seed=7)
        write_run(tmp_path / "runs" / "going", rule="grpo", entropies=[9.0], status="running")
        write_run(tmp_path / "runs" / "other", rule="grpo", entropies=[9.0], model="owner/name")
        write_run(tmp_path / "runs" / "alpha", rule="aepo", entropies=[9.0], options=("alpha=2",))
        write_run(no_measured_runs / "gpu", rule="grpo", entropies=[9.0, 9.0], device="a GPU")
        table = training.data(tmp_path)
        assert set(table["seed"]) == {7}
        assert table["value"].max() < 9

    def test_a_line_cut_off_by_a_kill_is_ignored(self, tmp_path: Path) -> None:
        """A killed run that breaks the report."""
        write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
        with (tmp_path / "runs" / "g" / "metrics.jsonl").open("a") as log:
            log.write('{"step": 3, "entr')
        assert training.data(tmp_path)["step"].max() == 2


class TestAudit:
    def test_tabular_identities_hold_to_rounding(self, smoke_results: Path) -> None:
        """(i) = (ii) and (iii) = measured where every logit is its own."""
        table = audit.data(smoke_results)
        for found in audit.comparisons(table).values():
            # Entropies of 20 actions, some 20 roundings of 1e-16.
            assert found.identity_error < 1e-13
            assert found.tabular_error < 1e-13
            assert found.dominant == "first order"

    def test_a_forecast_that_is_not_the_measured_change_shows(self, smoke_results: Path) -> None:
        """An error that is put down to the wrong assumption."""
        table = audit.data(smoke_results)
        table["coefficients"] += np.linspace(0, 1, len(table))
        found = next(iter(audit.comparisons(table).values()))
        assert found.dominant == "tabular assumption"


@pytest.mark.parametrize("name", ["aepo-figure-2", "entropy-audit"])
def test_the_same_data_give_the_same_bytes(
    name: str, smoke_results: Path, tmp_path: Path
) -> None:
    """Dates and random ids in files that are compared or committed."""
    digests = []
    for attempt in ("first", "second"):
        build(FIGURES[name], smoke_results, tmp_path / attempt)
        files = [tmp_path / attempt / f"{name}.{ext}" for ext in (*FORMATS, "csv", "json")]
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]


def test_a_drawing_of_the_same_data_is_kept_and_of_other_data_replaced(tmp_path: Path) -> None:
    """Stale or needless drawings."""
    figure = FIGURES["small-transformer-training"]
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    drawing = tmp_path / "figures" / f"{figure.name}.svg"
    before = drawing.stat().st_mtime_ns
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    assert drawing.stat().st_mtime_ns == before
    write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0, 0.9])
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    assert drawing.stat().st_mtime_ns != before


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_missing_input_names_the_command_that_makes_it(name: str, tmp_path: Path) -> None:
    """An error that does not say what to do."""
    with pytest.raises(MissingInputError, match=r"run `python -m (simulations|llm_bridge) "):
        FIGURES[name].data(tmp_path)


def test_a_damaged_dataset_is_named_with_the_remedy(tmp_path: Path) -> None:
    """A truncated file that ends in a traceback."""
    path = tmp_path / "simulations" / "aepo_figure_2.nc"
    path.parent.mkdir()
    path.write_bytes(b"CDF\x01 not really")
    with pytest.raises(MissingInputError, match=r"aepo_figure_2\.nc cannot be read .* delete it"):
        figure_2.data(tmp_path)
