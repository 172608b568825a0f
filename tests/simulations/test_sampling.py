"""Keyed uniforms and draws: guards sampling.py, whose formula a compiled path must be able to restate."""

import numpy as np
import pytest
from scipy import stats

from simulations.engine.sampling import (
    ORDINARY,
    TEMPERED,
    Samples,
    batch_key,
    count,
    draw,
    lanes,
    uniforms,
)

MASK = 2**64 - 1


def mix(x):
    """splitmix64's finalizer on Python integers, written from the paper."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def absorb(h, word):
    return mix((h + (word + 1) * 0x9E3779B97F4A7C15) & MASK)


@pytest.mark.parametrize(("seed", "batch"), [(12, 7), (0, 0)])
def test_a_uniform_is_the_formula_of_the_docstring(seed, batch):
    """For words whose multiples of the golden ratio are above 2^63, and for others."""
    position = 3
    key = absorb(absorb(0, seed), batch)
    runs = np.array([0, 5, 40_000])
    found = uniforms(lanes(TEMPERED, runs, 2, 3, position), batch_key(seed, batch))
    assert found.shape == (3, 2, 3)
    for i, run in enumerate(runs.tolist()):
        for prompt in range(2):
            for sample in range(3):
                lane = 0
                for word in (1, run, prompt, sample, position):  # 1: a tempered row
                    lane = absorb(lane, word)
                expected = (mix((lane + key) & MASK) >> 11) * 2.0**-53
                assert found[i, prompt, sample] == expected


@pytest.mark.parametrize("vary", ["batch", "kind", "run", "prompt", "sample", "position"])
def test_uniforms_are_uniform_and_independent_along_every_part_of_their_key(vary):
    """40,000 neighbors, or 4,000 batches: uniform by chi-square, and so are pairs (p above 1e-4, at a
    fixed seed)."""
    n = 4_000 if vary == "batch" else 40_000
    if vary == "batch":
        lane = lanes(ORDINARY, np.arange(1), 1, 1)
        u = np.array([uniforms(lane, batch_key(0, k)).item() for k in range(n)])
    else:
        runs, prompts, samples = (n if vary == name else 1 for name in ("run", "prompt", "sample"))
        places = [(kind, p) for kind in range(2 if vary == "kind" else 1)
                  for p in range(20 if vary == "position" else 1)]
        if vary in ("kind", "position"):
            runs = n // len(places)
        key = batch_key(0, 1)
        u = np.stack([uniforms(lanes(kind, np.arange(runs), prompts, samples, p), key).ravel()
                      for kind, p in places], axis=-1).ravel()
    assert len(np.unique(u)) == n
    assert stats.chisquare(np.bincount((u * 50).astype(int), minlength=50)).pvalue > 1e-4
    cells = (u[:-1] * 8).astype(int) * 8 + (u[1:] * 8).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=64)).pvalue > 1e-4


@pytest.mark.parametrize("n_actions", [2, 32, 33, 1000])
def test_draws_invert_the_distribution(n_actions):
    """Both ways of searching, against numpy's; actions of probability 0 are never drawn."""
    rng = np.random.default_rng(n_actions)
    p = rng.random((3, 2, n_actions)) * (rng.random((3, 2, n_actions)) < 0.7)
    p[..., 0] += 0.01
    p[0, 0, -1] = 0.0
    p[1, :, 0], p[1, :, 1] = 0.0, 0.2
    u = rng.random((3, 2, 500))
    u[..., 0], u[..., 1] = 0.0, 1 - 2.0**-53
    found = draw(p, u)
    for r, s in np.ndindex(3, 2):
        running = np.cumsum(p[r, s])
        expected = np.searchsorted(running, u[r, s] * running[-1], side="right")
        np.testing.assert_array_equal(found[r, s], expected)
    assert np.all(np.take_along_axis(p, found, axis=-1) > 0)
    counts = count(found, n_actions)
    np.testing.assert_array_equal(count(found, n_actions, "F"), counts)
    assert count(found, n_actions, "F").flags.f_contiguous
    for r, s in np.ndindex(3, 2):
        np.testing.assert_array_equal(counts[r, s], np.bincount(found[r, s], minlength=n_actions))


@pytest.mark.parametrize("n_actions", [3, 64])
def test_draws_do_not_depend_on_the_order_in_memory(n_actions):
    """Uniforms beside the running sums themselves: another last digit would be another draw."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(n_actions), size=(300, 1))
    running = np.cumsum(probabilities, axis=-1)
    uniform = (running / running[..., -1:])[..., :-1]
    np.testing.assert_array_equal(
        draw(np.asfortranarray(probabilities), uniform), draw(probabilities, uniform))


def test_by_default_both_batches_are_as_large_as_aepos():
    """AEPO, Table 4: eight responses a prompt."""
    assert Samples() == Samples(group_size=8, tempered=8)
    assert Samples(group_size=1, tempered=1).tempered == 1
