"""Guards token_tree.py: recursions against sums over written-out responses, gradients against slopes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from entropy_theory.policy import entropy, log_softmax, softmax
from entropy_theory.token_tree import TokenTree
from tests.tolerances import ROUNDING

SHAPES = [(2, 1, False), (3, 2, False), (2, 4, True), (3, 3, True)]


def case(n_tokens, horizon, end_token, *lead):
    tree = TokenTree(n_tokens, horizon, end_token)
    generator = np.random.default_rng(n_tokens * 10 + horizon)
    logits = generator.normal(size=(*lead, tree.n_states, n_tokens))
    edge = generator.normal(size=logits.shape)
    return tree, logits, softmax(logits), edge


def responses(tree):
    """Every response as its (state, token) pairs, written out without the module's arithmetic."""
    end = tree.n_tokens - 1 if tree.end_token else None
    going_on = [token for token in range(tree.n_tokens) if token != end]
    prefixes = [p for d in range(tree.horizon) for p in itertools.product(going_on, repeat=d)]
    for prefix in prefixes:
        for last in range(tree.n_tokens):
            tokens = (*prefix, last)
            if last == end or len(tokens) == tree.horizon:
                yield [(prefixes.index(tokens[:d]), tokens[d]) for d in range(len(tokens))]


@pytest.mark.parametrize(("n_tokens", "horizon", "end_token"), SHAPES)
def test_responses_are_products_and_sums_along_their_path(n_tokens, horizon, end_token):
    tree, _, p, edge = case(n_tokens, horizon, end_token)
    paths = list(responses(tree))
    assert [tree.path(k) for k in range(tree.n_responses)] == paths
    expected = [np.prod([p[s, a] for s, a in path]) for path in paths]
    np.testing.assert_allclose(tree.response_probabilities(p), expected, rtol=ROUNDING)
    np.testing.assert_allclose(tree.sum_along(edge),
                               [sum(edge[s, a] for s, a in path) for path in paths], atol=1e-14)
    reach = [sum(q for q, path in zip(expected, paths, strict=True) if s in dict(path))
             for s in range(tree.n_states)]
    np.testing.assert_allclose(tree.visitation(p), reach, rtol=ROUNDING)
    assert tree.lengths.tolist() == [len(path) for path in paths]
    state, token, mask = tree.paths()
    for k, path in enumerate(paths):
        assert list(zip(state[k][mask[k]], token[k][mask[k]], strict=True)) == path
        assert tree.response_of_edge()[path[-1]] == k
    assert (tree.response_of_edge() >= 0).sum() == len(paths)
    of_response = np.random.default_rng(1).normal(size=len(paths))
    flow, shares = np.zeros(p.shape), np.zeros(tree.n_states)
    for k, path in enumerate(paths):
        for s, a in path:
            flow[s, a] += expected[k] * of_response[k]
            shares[s] += expected[k] / len(path)
    np.testing.assert_allclose(tree.flow(p, of_response), flow, atol=1e-14)
    np.testing.assert_allclose(tree.token_shares(p), shares, rtol=ROUNDING)


@pytest.mark.parametrize(("n_tokens", "horizon", "end_token"), SHAPES)
def test_root_value_is_the_expected_sum(n_tokens, horizon, end_token):
    tree, logits, p, edge = case(n_tokens, horizon, end_token)
    expected = np.sum(tree.response_probabilities(p) * tree.sum_along(edge))
    np.testing.assert_allclose(tree.values(p, edge)[0][0], expected, atol=1e-13)
    reward = np.random.default_rng(0).random(tree.n_responses)
    np.testing.assert_allclose(tree.sum_along(tree.edge_reward(reward)), reward)
    to_go = tree.values(p, -log_softmax(logits))[0]
    by_level = np.sum(tree.visitation(p) * entropy(logits))
    np.testing.assert_allclose(to_go[0], by_level, atol=1e-13)


@pytest.mark.parametrize(("n_tokens", "horizon", "end_token"), SHAPES)
@pytest.mark.parametrize("of_entropy", [False, True])
def test_gradient_is_the_slope_of_the_root_value(n_tokens, horizon, end_token, of_entropy):
    """With a fixed edge, and with edge = -log pi, which moves with the logits."""
    tree, logits, p, edge = case(n_tokens, horizon, end_token)

    def root(z):
        return tree.values(softmax(z), -log_softmax(z) if of_entropy else edge)[0][0]

    gradient = tree.expectation_gradient(p, -log_softmax(logits) if of_entropy else edge)
    h = 1e-6
    for s, a in itertools.product(range(tree.n_states), range(n_tokens)):
        up, down = logits.copy(), logits.copy()
        up[s, a] += h
        down[s, a] -= h
        # A central difference errs by h^2 f'''/6 plus rounding of about 1e-16 / h.
        assert gradient[s, a] == pytest.approx((root(up) - root(down)) / (2 * h), abs=1e-8)


def test_leading_axes_are_a_batch():
    tree, _, p, edge = case(3, 2, False, 4, 2)
    together = tree.values(p, edge)[1]
    for k, j in itertools.product(range(4), range(2)):
        np.testing.assert_array_equal(together[k, j], tree.values(p[k, j], edge[k, j])[1])
    assert tree.response_probabilities(p).shape == (4, 2, 9)
    assert tree.expectation_gradient(p, edge).shape == p.shape


def test_the_tree_is_read_off_the_logits():
    assert TokenTree.of(np.zeros((5, 13, 3))) == TokenTree(3, 3)
    assert TokenTree.of(np.zeros((1, 7))) == TokenTree(7, 1)
    assert TokenTree(2, 5, True).n_states == 5  # one token goes on: the tree is a line


@pytest.mark.parametrize("end_token", [False, True])
def test_sum_through_adds_the_responses_that_take_an_edge(end_token):
    tree = TokenTree(3, 3, end_token=end_token)
    of_response = np.arange(1.0, tree.n_responses + 1)[None] ** 2
    expected = np.zeros((tree.n_states, 3))
    for response in range(tree.n_responses):
        for state, token in tree.path(response):
            expected[state, token] += of_response[0, response]
    np.testing.assert_allclose(tree.sum_through(of_response)[0], expected)
