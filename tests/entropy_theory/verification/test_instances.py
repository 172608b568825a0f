"""Guards instances.py: the three ways of drawing agree in shape, and enumeration covers what is small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import (
    GRADED_REWARD,
    Scalar,
    Vector,
    bandit_instances,
    listed_instances,
    tree_instances,
)
from entropy_theory.verification.instances import as_balls, as_floats, pick

STEP = Vector(name="step", low=-1, high=1, grid=(0, 1, -1))
LAMBDA = Scalar(name="coefficient", low=0.1, high=2, grid=(1, Fraction(1, 2)))


def seen(instances, total):
    return [pick(batch, k) for batch in instances.enumerate(total)
            for k in range(len(next(iter(batch.values()))))]


@pytest.mark.parametrize("reward", ["correct", "graded", None])
@pytest.mark.parametrize("prompts", [None, (1, 2)])
def test_tree_batches_fit_together(reward, prompts):
    instances = tree_instances(LAMBDA, reward=reward, prompts=prompts, vectors=(STEP,))
    generator = np.random.default_rng(0)
    shapes = set()
    for _ in range(40):
        batch = instances.sample(generator, 3)
        tree = TokenTree.of(batch["logits"])
        shapes.add(batch["logits"].shape)
        assert batch["step"].shape == batch["logits"].shape
        assert batch["coefficient"].shape == (3,)
        name = {"correct": "correct", "graded": "reward"}.get(reward)
        if name:
            lead = batch["logits"].shape[:-2]
            assert batch[name].shape == (*lead, tree.n_responses)
        if reward == "correct":
            assert batch["correct"].any(axis=-1).all()
    assert len(shapes) > 5


def test_enumerated_trees_contain_the_smallest_and_no_duplicates():
    found = seen(tree_instances(tokens=(2, 2), horizon=(1, 2)), 9)
    as_keys = [(np.asarray(i["weights"]).tobytes(), np.asarray(i["correct"]).tobytes(),
                np.shape(i["weights"])) for i in found]
    assert len(set(as_keys)) == len(as_keys)
    assert {"weights": [[1, 1], [2, 1], [1, 1]], "correct": [True, True, False, False]} in found
    assert any(np.max(i["weights"]) == 3 for i in found)


def test_vectors_of_bandits_cover_their_grid():
    found = seen(bandit_instances(correct=False, vectors=(GRADED_REWARD,), actions=(2, 2)), 3)
    rewards = {tuple(i["reward"]) for i in found if i["weights"] == [1, 2]}
    assert rewards == {(a, b) for a in (0, 1, Fraction(1, 2)) for b in (0, 1, Fraction(1, 2))}


def test_listed_instances_are_the_rows_exactly():
    rows = [{"row": [Fraction("51.76"), Fraction("33.3")]}, {"row": [Fraction(1), Fraction(2)]}]
    instances = listed_instances(rows, "a printed table")
    assert seen(instances, 3) == [{"row": [Fraction(1294, 25), Fraction(333, 10)]}, {"row": [1, 2]}]


def test_floats_and_balls_see_the_same_fields():
    instance = {"weights": [[1, 2]], "correct": [True, False]}
    batch = {k: np.asarray(v)[None] for k, v in instance.items()}
    floats, balls = as_floats(batch), as_balls(instance)
    assert floats.logits.shape == balls.logits.shape == (1, 1, 2)
    assert balls.correct.dtype == bool
