"""Guards llm_bridge/evaluation.py: pass@k exactly, and the numbers of an evaluation."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from llm_bridge import evaluation
from llm_bridge.data import models, tasks


def exact(n, c, k):
    """The definition, in exact arithmetic."""
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample():
    """Counted one by one, not from the formula."""
    n, c = 6, 2
    right = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        subsets = list(itertools.combinations(right, k))
        share = sum(any(subset) for subset in subsets) / len(subsets)
        assert math.isclose(evaluation.pass_at_k(n, c, k), share, rel_tol=1e-14)


@pytest.mark.parametrize(
    ("n", "c", "k"),
    [(5000, 3, 2000), (10_000, 1, 9_999), (8192, 4000, 16)],
)
def test_pass_at_k_keeps_its_digits_for_thousands_of_samples(n, c, k):
    """A difference of log-gammas, or of binomials, loses them at the small values."""
    assert math.isclose(evaluation.pass_at_k(n, c, k), float(exact(n, c, k)), rel_tol=1e-12)


def test_pass_at_k_ends():
    assert evaluation.pass_at_k(10, 0, 10) == 0.0
    assert math.copysign(1.0, evaluation.pass_at_k(10, 0, 3)) == 1.0
    assert evaluation.pass_at_k(10, 10, 1) == 1.0
    assert evaluation.pass_at_k(10, 4, 7) == 1.0
    assert evaluation.pass_at_k(10, 3, 1) == pytest.approx(0.3, rel=1e-15)


def test_bootstrap_interval_covers_the_mean_about_as_often_as_it_says():
    """95 % intervals of 60 values: 200 repetitions miss the true mean 4 to 20 times (3.1 sigma)."""
    generator = np.random.default_rng(0)
    missed = 0
    for seed in range(200):
        low, high = evaluation.bootstrap_interval(
            (generator.random(60) < 0.4).astype(float), seed=seed, resamples=500
        )
        missed += not low <= 0.4 <= high
    assert 4 <= missed <= 20


@pytest.fixture(scope="module")
def small():
    return models.load("small-sums")


@pytest.mark.parametrize(("name", "entropy"), [("sum", (0.2, 0.6)), ("split", (0.7, 1.1))])
def test_small_model_solves_each_task_about_half_of_the_time(small, name, entropy):
    """What reinforcement learning starts from: unsure, and right often enough to learn.

    512 samples of 128 prompts: the standard error of pass@1 is below .03.
    """
    task = tasks.load(name, split="held-out", size=128)
    found = evaluation.evaluate(*small, task, num_samples=4, batch_size=512)
    assert 0.28 < found["pass@1"] < 0.62
    assert found["pass@1"] < found["pass@2"] < found["pass@4"]
    assert entropy[0] < found["entropy"] < entropy[1]
    assert found["constant_answer"]["score"] < 0.1
    assert found["ended"] > 0.95
    low, high = found["intervals"]["pass@1"]
    assert low < found["pass@1"] < high


def test_evaluation_counts_what_was_drawn(small, monkeypatch):
    """Rewards planted by prompt: pass@k, avg@n and distinct answers follow by hand."""
    task = tasks.Task(
        name="planted", prompts=("57=", "23+34="), answers=("a", "b"), max_new_tokens=6,
        # Prompt 1: two of four right; prompt 2: none right, but a reward of one half each.
        reward=lambda prompts, completions, **_: (
            [1.0, 0.0, 1.0, 0.0] + [0.5] * 4 if len(prompts) == 8 else [0.0] * len(prompts)
        ),
    )
    found = evaluation.evaluate(*small, task, num_samples=4, ks=(2,))
    assert found["pass@1"] == pytest.approx(0.25)
    assert found["pass@2"] == pytest.approx((1 - 1 / 6) / 2)
    assert found["avg@4"] == pytest.approx(0.5)
    assert 1 <= found["distinct_completions"] <= 4
    assert json.loads(json.dumps(found, allow_nan=False))["prompts"] == 2


@pytest.mark.parametrize(("scale", "right", "said"), [
    (1.0, 1.0, False), (0.0, 0.0, False), (0.7, 0.0, True), (1e-9, 0.0, True), (100.0, 1.0, True)])
def test_right_is_a_reward_of_one_up_to_rounding_and_another_scale_is_told(small, scale, right, said):
    """.7 + .2 + .1 is 0.9999999999999999: avg@n was 1.000 and pass@k 0.000."""
    def reward(prompts, completions, **columns):
        return [scale * (0.7 + 0.2 + 0.1)] * len(completions)

    task = dataclasses.replace(tasks.load("sum", size=2), reward=reward)
    found = evaluation.evaluate(*small, task, num_samples=2, ks=(2,))
    assert (found["pass@1"], found["pass@2"]) == (right, right)
    assert found["avg@2"] == pytest.approx(scale)
    assert ("pass@k counts as right those of at least 1" in evaluation.summary(found)) == said


def test_evaluate_command_writes_json_with_provenance(tmp_path, capsys):
    output = tmp_path / "found.json"
    config = evaluation.EvaluateConfig(
        task="sum", num_prompts=4, num_samples=2, temperature=0.8, output=output
    )
    returned = evaluation.evaluate_command(config)
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["pass@2"] == returned["pass@2"]
    assert found["model"] == "small-sums"
    assert found["provenance"]["seed"] == 0
    assert found["provenance"]["config"]["temperature"] == 0.8
    assert "torch" in found["provenance"]["versions"]
    assert "always answering" in capsys.readouterr().out
