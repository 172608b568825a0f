"""Holds translated recipes to the engines: two trainers, each with its own options, make one step.

Random recipes of an engine are written for another. The trainers of both are then given the same batches
(`tests.losses.trainers`), and advantages and gradients are compared. Where something is told to be lost,
the recipe that the other engine is left with is written back: with what was told changed, the two must
agree again.
"""

import dataclasses
import itertools
import random

import pytest
import torch

from llm_bridge import translation
from llm_bridge.conformance import engines
from llm_bridge.conformance.batches import random_batch
from llm_bridge.conformance.comparison import EQUAL
from llm_bridge.translation import ENGINES, UntranslatableError
from llm_bridge.translation.recipe import differences
from tests.llm_bridge.drawn_recipes import recipes

if absent := [name for name in ("trl", "verl", "skyrl", "openrlhf") if engines.installed(name) is None]:
    pytest.skip(f"no {', '.join(absent)} here: make test-losses", allow_module_level=True)

from tests.losses.trainers import TRAINERS, exactly

RECIPES = 50
FARTHEST = 2.0
"""The largest log-ratio of a batch, nats: beyond it engines clamp ratios and KLs."""
PAIRS = [*itertools.permutations(TRAINERS, 2)]


def batches():
    """Yield two batches in float64, on which no clamp of an engine acts."""
    for seed, mismatch in ((0, 0.6), (50, 0.1)):
        drawn = (random_batch(each, mismatch=mismatch) for each in itertools.count(seed))
        batch = next(each for each in drawn if float(
            (each.log_prob.detach() - each.old_log_prob).abs().max()) < FARTHEST)
        apart = 0.3 * torch.randn(batch.mask.shape, generator=torch.Generator().manual_seed(seed))
        yield dataclasses.replace(batch, reference_log_prob=torch.where(
            batch.mask, batch.log_prob.detach() - apart, 0.0))


with exactly():
    BATCHES = [*batches()]


def step(engine, given):
    """Return advantages and gradients on each batch."""
    found = []
    with exactly():
        for batch in BATCHES:
            # The random choices of Clip-Cov are those of the last seed.
            torch.manual_seed(0)
            given_advantage = batch.advantage.sum(1) / batch.mask.sum(1)
            advantage, gradients = TRAINERS[engine](given, batch, given_advantage)
            found.append((advantage, *gradients))
    return found


def gaps(one, other):
    """Return the largest relative gaps of advantages and of gradients."""
    parts = []
    for kind in (slice(0, 1), slice(1, None)):
        worst = 0.0
        for here, there in zip(one, other, strict=True):
            assert all(bool(each.isfinite().all()) for each in (*here, *there))
            largest = max(float(each.abs().max()) for each in (*here[kind], *there[kind]))
            worst = max(worst, *(float((a - b).abs().max()) / max(largest, 1e-300)
                                 for a, b in zip(here[kind], there[kind], strict=True)))
        parts.append(worst)
    return parts


def compared(here, there):
    """Yield, of each recipe that goes over, options of both engines, what is lost, and the gaps."""
    for seed in itertools.count():
        for given, recipe in recipes(ENGINES[here], RECIPES, seed):
            try:
                options, lost = translation.write(there, recipe)
                left = translation.read(there, options)
                if [*differences(recipe.rule, left.rule)]:
                    given, lost_again = translation.write(here, left)
                    if lost_again:
                        continue
            except UntranslatableError:
                continue
            yield given, options, lost, gaps(step(here, given), step(there, options))


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_two_trainers_make_one_step_of_a_translated_recipe(here, there):
    for given, options, lost, found in itertools.islice(compared(here, there), RECIPES):
        assert max(found) < EQUAL, (given, options, lost)


@pytest.mark.parametrize("engine", TRAINERS)
def test_an_option_moves_a_trainer_s_step_only_if_it_moves_the_rule(engine):
    rng, moved = random.Random(engine), []
    for given, recipe in recipes(ENGINES[engine], RECIPES, seed=1):
        name = rng.choice([each for each in given if given[each] != ENGINES[engine].defaults[each]])
        if name == "use_vllm":  # without it TRL samples from the policy, and these batches do not
            continue
        without = {each: value for each, value in given.items() if each != name}
        try:
            other = translation.read(engine, without)
        except ValueError:
            continue
        gap = max(gaps(step(engine, given), step(engine, without)))
        if [*differences(recipe.rule, other.rule)]:
            moved.append(gap > EQUAL)
        else:
            assert gap < EQUAL, (name, given)
    assert sum(moved) > len(moved) / 2
