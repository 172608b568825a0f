"""Guards rows.py and tree_rows.py: a drawn row is the listed row of the same action or response."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.tabular import exact_batch, listing, response_batch
from entropy_theory.token_batch import TokenBatch
from simulations.engine.rows import token_batch
from simulations.engine.sampling import ORDINARY, TEMPERED
from simulations.engine.tree_rows import draw_responses, sampled_responses
from simulations.problems.token_trees import TokenProblem

RUNS, STATES, ACTIONS, SAMPLES = 2, 3, 5, 4
RNG = np.random.default_rng(4)
LOGITS, REFERENCE = RNG.normal(size=(2, RUNS, STATES, ACTIONS))
REWARD = RNG.random((1, STATES, ACTIONS))
TEMPERATURE = np.array([0.7, 1.6])
ALL = {"reference_logits": REFERENCE, "removed_fraction": 0.5, "effects": True}


def draws(*kinds: int) -> dict[int, np.ndarray]:
    return {kind: np.random.default_rng(kind).integers(0, ACTIONS, (RUNS, STATES, SAMPLES))
            for kind in kinds}


def assert_rows_of(found: TokenBatch, listed: TokenBatch, index: np.ndarray, but: set[str]) -> None:
    """Every column of ``found`` is ``listed``'s at the rows ``index`` [runs, rows], or both lack it."""
    for field in dataclasses.fields(TokenBatch):
        ours, theirs = (getattr(batch, field.name) for batch in (found, listed))
        if not isinstance(theirs, np.ndarray):
            assert (ours is None) == (theirs is None), field.name
        elif field.name not in but:
            taken = np.take_along_axis(theirs, index[..., None], axis=1)
            # The theory's logarithms of one row's numbers, once of all of them and once of some.
            np.testing.assert_allclose(ours, taken, rtol=1e-14, err_msg=field.name)


@pytest.mark.parametrize("columns", [{}, ALL], ids=["least", "all"])
@pytest.mark.parametrize("kind", [ORDINARY, TEMPERED])
def test_a_draw_is_the_listed_row_of_its_action(kind, columns):
    """Every column: a temperature, a group or an entropy of another state would show."""
    drawn = draws(kind)
    temperature = TEMPERATURE if kind == TEMPERED else None
    found = token_batch(LOGITS, REWARD, ordinary=kind == ORDINARY, temperature=temperature,
                        draws=drawn, **columns)
    listed = listing(LOGITS, REWARD, temperature=temperature, **columns)
    place = (np.arange(STATES)[:, None] * ACTIONS + drawn[kind]).reshape(RUNS, -1)
    assert_rows_of(found, listed, place, but={"weight"})
    # Each state alike, and so are the draws of it.
    np.testing.assert_array_equal(found.weight, np.full((RUNS, STATES * SAMPLES, 1), 1 / 12))


@pytest.mark.parametrize(("ordinary", "temperature"), [(True, None), (True, TEMPERATURE),
                                                       (False, TEMPERATURE)])
def test_without_draws_all_actions_are_listed(ordinary, temperature):
    found = token_batch(
        LOGITS, REWARD, ordinary=ordinary, temperature=temperature, draws={}, **ALL)
    expected = (exact_batch if ordinary else listing)(LOGITS, REWARD, temperature=temperature, **ALL)
    every = np.broadcast_to(np.arange(expected.mask.shape[1]), (RUNS, expected.mask.shape[1]))
    assert_rows_of(found, expected, every, but=set())


@pytest.mark.parametrize(("n_prompts", "temperature", "end_token", "columns"), [
    (1, None, True, {}), (2, TEMPERATURE, False, ALL), (2, None, True, ALL)])
def test_a_drawn_response_is_the_listed_row_of_it(n_prompts, temperature, end_token, columns):
    """Every column on the mask, of responses that end early and of those that do not."""
    problem = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.3,) * n_prompts,
                           end_token=end_token)
    tree, rng = problem.tree, np.random.default_rng(5)
    shape = (RUNS, n_prompts * tree.n_states, 3)
    logits, reference = rng.normal(size=(2, *shape))
    reward = rng.random((1, n_prompts, tree.n_responses))
    of_rule = {"reference_logits": reference, "removed_fraction": 0.4} if columns else {
        "reference_logits": None, "removed_fraction": 0.0}
    heat = np.ones(RUNS) if temperature is None else temperature
    chances = np.exp(logits / heat[:, None, None])
    chances /= chances.sum(axis=-1, keepdims=True)
    uniforms = rng.random((3, RUNS, n_prompts, 20))
    paths = draw_responses(tree, chances.reshape(RUNS, n_prompts, -1, 3), uniforms.__getitem__)
    log_prob = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    found = sampled_responses(
        logits, reward, tree, paths, tree.response_of_edge(), temperature=temperature,
        columns={"log_prob": log_prob, **of_rule})
    listed = response_batch(logits, reward, tree=tree, temperature=temperature, **of_rule)
    every = tree.paths()
    same = ((paths.token[..., None, :] == every.token)
            & (paths.state[..., None, :] == every.state)).all(axis=-1)
    same &= (paths.mask[..., None, :] == every.mask).all(axis=-1)
    assert (same.sum(axis=-1) == 1).all()
    place = same.argmax(axis=-1) + tree.n_responses * np.arange(n_prompts)[:, None]
    assert_rows_of(found, listed, place.reshape(RUNS, -1), but={"weight"})
    # One over the tokens that the run has drawn.
    tokens = found.mask.sum(axis=(1, 2))
    np.testing.assert_array_equal(found.weight, np.broadcast_to(
        (1 / tokens)[:, None, None], found.mask.shape))
    assert (len(set(tokens.tolist())) > 1) == end_token, "runs are to differ in their tokens"
