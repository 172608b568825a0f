"""Guards llm_bridge/loss.py and token_statistics.py: one rule is the same at both scales."""

import itertools

import numpy as np
import pytest
import torch

from entropy_theory import forecast, policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge import loss, token_statistics
from tests.tolerances import FLOAT64, SAME_STEP

STATES, ACTIONS = 3, 5
AEPO_VARIANTS = [
    {"alpha": alpha, "normalize": normalize, "ablation": ablation}
    for alpha, normalize, ablation in itertools.product(
        (0.5, 3.0), ("samples", "positives"), ("none", "untempered", "advantage")
    )
]
CASES = [(name, {}) for name in update_rules.RULES] + [("aepo", v) for v in AEPO_VARIANTS]


class TabularModel(torch.nn.Module):
    """One logit per (state, action), looked up: the smallest model autograd can train."""

    def __init__(self, logits: np.ndarray):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(logits, dtype=torch.float64))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return self.logits[state]


def policy_logits() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(STATES, ACTIONS))


def exact_batch(logits: np.ndarray, rule: update_rules.UpdateRule) -> TokenBatch:
    reward = (np.random.default_rng(8).random((STATES, ACTIONS)) < 0.5).astype(float)
    reward[:, 0], reward[:, 1] = 1.0, 0.0
    controller = rule.controller()
    temperature = None if controller is None else float(controller.temperature_high)
    batch = tabular.exact_batch(logits, reward, temperature=temperature)
    return off_policy(batch, logits)


def sampled_batch(logits: np.ndarray, rule: update_rules.UpdateRule) -> TokenBatch:
    """Sequences of unequal length over several prompts, as an LLM batch has them."""
    rng = np.random.default_rng(9)
    groups, samples, positions = 4, 6, 3
    rows = 2 * groups * samples if rule.controller() is not None else groups * samples
    shape = (rows, positions)
    tempered = np.arange(rows)[:, None] >= groups * samples
    length = rng.integers(1, positions + 1, size=(rows, 1))
    mask = np.arange(positions) < length
    state, action = rng.integers(0, STATES, shape), rng.integers(0, ACTIONS, shape)
    log_prob = policy.log_softmax(logits)[state, action]
    tempered = np.broadcast_to(tempered, shape)
    batch = TokenBatch(
        log_prob=log_prob,
        old_log_prob=log_prob,
        reward=np.broadcast_to(rng.integers(0, 2, (rows, 1)).astype(float), shape),
        mask=mask,
        weight=np.where(tempered, 1 / max(mask[tempered].sum(), 1), 1 / mask[~tempered].sum()),
        entropy=policy.entropy(logits)[state],
        sampling_temperature=np.where(tempered, 1.2, 1.0),
        tempered=tempered,
        group=np.broadcast_to((np.arange(rows) // samples % groups)[:, None], shape),
        sequence=np.broadcast_to(np.arange(rows)[:, None], shape),
        state=state,
        action=action,
    )
    return off_policy(batch, logits)


def off_policy(batch: TokenBatch, logits: np.ndarray) -> TokenBatch:
    """Ratios spread widely around 1, so that some tokens are clipped on either side."""
    drift = np.random.default_rng(10).normal(scale=0.3, size=batch.log_prob.shape)
    return batch.replace(old_log_prob=batch.log_prob - drift)


def as_torch(batch: TokenBatch, model: TabularModel) -> TokenBatch:
    """The batch in torch, its policy columns computed by the model, with gradient."""
    fixed = {
        name: torch.tensor(np.ascontiguousarray(getattr(batch, name)))
        for name in ("old_log_prob", "reward", "mask", "weight", "sampling_temperature",
                     "tempered", "group", "state", "action", "sequence")
        if getattr(batch, name) is not None
    }
    statistics = token_statistics.from_logits(model(fixed["state"]), fixed["action"])
    return TokenBatch(**fixed, log_prob=statistics.log_prob, entropy=statistics.entropy)


def gradient_step(model: TabularModel) -> np.ndarray:
    assert model.logits.grad is not None
    step = -model.logits.grad.numpy().copy()
    model.logits.grad = None
    return step


@pytest.mark.parametrize("make_batch", [exact_batch, sampled_batch])
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: str(v))
def test_one_rule_two_scales(make_batch, name, options):
    """The trainer's gradient on a tabular module is the simulator's step, for every rule."""
    rule = update_rules.get(name, **options)
    logits = policy_logits()
    batch = make_batch(logits, rule)
    expected = tabular.logit_step(logits, batch, rule)
    assert np.abs(expected).max() > 1e-3  # a step of zero would prove nothing

    model = TabularModel(logits)
    loss.policy_loss(as_torch(batch, model), rule).backward()
    np.testing.assert_allclose(gradient_step(model), expected, rtol=0, atol=SAME_STEP)


@pytest.mark.parametrize("cuts", [2, 5, 24])
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: str(v))
def test_any_cut_into_micro_batches_gives_the_same_gradient(cuts, name, options):
    """Guards against selections and normalizers computed inside a micro-batch (verl issue 7829)."""
    rule = update_rules.get(name, **options)
    model = TabularModel(policy_logits())
    batch = sampled_batch(policy_logits(), rule)
    loss.policy_loss(as_torch(batch, model), rule).backward()
    whole = gradient_step(model)

    prepared = rule.prepare(loss.detached(as_torch(batch, model))).prepared
    order = np.random.default_rng(3).permutation(len(batch.mask))
    for rows in np.array_split(order, cuts):
        part = as_torch(batch, model).with_prepared(**prepared)
        loss.policy_loss(part.take_sequences(torch.tensor(rows)), rule).backward()
    np.testing.assert_allclose(gradient_step(model), whole, rtol=0, atol=SAME_STEP)


def test_correction_multiplies_every_token():
    """A correction of 2 doubles the gradient; the rule's own statistics do not see it."""
    rule = update_rules.get("entropy-bonus", coefficient=0.5)
    model = TabularModel(policy_logits())
    batch = sampled_batch(policy_logits(), rule)
    loss.policy_loss(as_torch(batch, model), rule).backward()
    plain = gradient_step(model)
    double = torch.full(batch.mask.shape, 2.0, dtype=torch.float64)
    loss.policy_loss(as_torch(batch, model), rule, correction=double).backward()
    np.testing.assert_allclose(gradient_step(model), 2 * plain, rtol=0, atol=SAME_STEP)


def test_an_action_never_taken_does_no_harm():
    """-inf log-probabilities have coefficient 0; 0 x inf must not reach the gradient."""
    rule = update_rules.get("entropy-bonus", coefficient=0.1)
    logits = policy_logits()
    logits[:, -1] = -np.inf
    batch = tabular.exact_batch(logits, np.eye(STATES, ACTIONS))
    model = TabularModel(logits)
    loss.policy_loss(as_torch(batch, model), rule).backward()
    np.testing.assert_allclose(
        gradient_step(model)[:, :-1], tabular.logit_step(logits, batch, rule)[:, :-1],
        rtol=0, atol=SAME_STEP,
    )


def test_a_state_term_without_column_is_named():
    rule = update_rules.get("entropy-bonus")
    model = TabularModel(policy_logits())
    batch = as_torch(sampled_batch(policy_logits(), rule), model).replace(entropy=None)
    with pytest.raises(ValueError, match=r"entropy-bonus.*'entropy'"):
        loss.policy_loss(batch, rule)


def test_statistics_have_the_gradients_of_their_definitions(monkeypatch):
    """The hand-written backward pass, cut into chunks, against autograd's finite differences."""
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 3 * ACTIONS)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 4, ACTIONS, dtype=torch.float64, generator=generator)
    ids = torch.randint(ACTIONS, (2, 4), generator=generator)

    def both(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        statistics = token_statistics.from_logits(z, ids)
        return statistics.log_prob, statistics.entropy

    assert torch.autograd.gradcheck(both, logits.requires_grad_())


def test_statistics_are_the_theory_s(monkeypatch):
    """Chunks are put back in order, and every column is what forecast.state_statistics defines."""
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 2 * ACTIONS)
    rng = np.random.default_rng(2)
    logits, ids = rng.normal(size=(3, 3, ACTIONS)), rng.integers(0, ACTIONS, (3, 3))
    found = token_statistics.from_logits(torch.tensor(logits), torch.tensor(ids)).state
    expected = forecast.state_statistics(policy.log_softmax(logits), ids)
    for name in ("log_prob", "entropy", "sum_squared_prob", "sum_squared_prob_log_prob",
                 "sum_squared_prob_squared_log_prob"):
        np.testing.assert_allclose(
            getattr(found, name).numpy(), getattr(expected, name), rtol=64 * FLOAT64, atol=0
        )


def test_half_precision_logits_are_widened():
    """bfloat16 entropies would be off in the second digit."""
    logits = torch.randn(1, 6, ACTIONS, generator=torch.Generator().manual_seed(1)).bfloat16()
    found = token_statistics.from_logits(logits, torch.zeros(1, 6, dtype=torch.long))
    assert found.entropy.dtype == torch.float32
    torch.testing.assert_close(found.entropy, policy.entropy(logits.float()), rtol=0, atol=0)
