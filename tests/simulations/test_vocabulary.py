"""Vocabulary-sized steps on numpy and torch: the engine's steps, whatever the arrays."""

import shutil

import numpy as np
import pytest
import torch
from array_api_compat import to_device

from entropy_theory.policy import entropy
from entropy_theory.update_rules import get
from simulations.engine import Dynamics, Record, simulate
from simulations.vocabulary import Steps

G8 = get("grpo", group_size=8)
RULES = [get("reinforce"), G8, get("grpo"), get("aepo", target=1.2, base=G8),
         get("entropy-bonus", coefficient=0.2, base=G8)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("asarray", [
    pytest.param(np.asarray, id="numpy"), pytest.param(torch.asarray, id="torch"),
    pytest.param(lambda x: torch.asarray(x, device="cuda"), id="cuda", marks=pytest.mark.skipif(
        not torch.cuda.is_available(), reason="no CUDA device")),
])
def test_steps_are_the_engines(rule, asarray):
    """Sums in another order round to 1e-16 a step."""
    start = np.random.default_rng(0).normal(size=(5, 40))
    start[4, 7] = 30  # nearly collapsed
    right = np.arange(40) < 6
    dynamics = Dynamics(rule=rule, learning_rate=0.5, steps=80, record_every=1, engine="numpy")
    run = simulate(start[:, None], right, dynamics, record=Record(logits=True))
    logits, mask = asarray(start), asarray(right.astype(float))
    steps = Steps.of(rule, 0.5, logits)
    for step in range(80):
        np.testing.assert_allclose(to_device(logits, "cpu"), run.logits[step, :, 0], rtol=0, atol=1e-11)
        logits, seen = steps.take(logits, mask)
        np.testing.assert_allclose(to_device(seen, "cpu"), run.entropy[step], rtol=1e-11)
    np.testing.assert_allclose(to_device(logits, "cpu"), run.final_logits[:, 0], rtol=0, atol=1e-11)


def test_a_whole_vocabulary_in_float32():
    """151,936 actions: float32 sums of so many terms round to some 1e-5, relatively."""
    start = torch.asarray(np.random.default_rng(0).normal(size=(2, 151_936)), dtype=torch.float32)
    right = (torch.arange(151_936) < 100).float()
    steps = Steps.of(get("aepo", base=G8), 0.5, start)
    logits, seen = steps.take(start, right)
    assert logits.dtype == torch.float32
    np.testing.assert_allclose(seen, entropy(start.double()), rtol=1e-5)
    exact, _ = Steps.of(get("aepo", base=G8), 0.5, start.double()).take(start.double(), right.double())
    np.testing.assert_allclose(logits, exact, atol=2e-6)


@pytest.mark.deep
@pytest.mark.filterwarnings("default::DeprecationWarning:torch.*")  # of what torch.compile imports
@pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning")  # its worker processes
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on a CPU")
def test_a_compiled_step_is_the_same_in_one_graph():
    """AEPO has all three tables and the switch; sums in another order round to 1e-16."""
    rule = get("aepo", target=1.2, base=get("entropy-bonus", coefficient=0.05, base=G8))
    logits = torch.asarray(np.random.default_rng(0).normal(size=(3, 1000)))
    logits[1] *= 5  # below the target
    right = (torch.arange(1000) < 30).double()
    steps = Steps.of(rule, 0.5, logits)
    compiled = torch.compile(steps.take, dynamic=False, fullgraph=True)
    for found, expected in zip(compiled(logits, right), steps.take(logits, right), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_rules_that_see_more_are_refused():
    with pytest.raises(ValueError, match="cannot be tabulated: it sees more of an action"):
        Steps.of(get("natural-gradient"), 0.5, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="not the two-point switch"):
        Steps.of(get("aepo", control="proportional", base=G8), 0.5, np.zeros((1, 2)))
