"""Guards llm_bridge/objective/loss.py and token_statistics.py: one rule is the same at both scales."""


import numpy as np
import pytest
import torch

from entropy_theory import forecast, policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.reinforce import Reinforce
from llm_bridge.head import token_statistics
from llm_bridge.objective import loss
from llm_bridge.objective.batches import map_columns
from tests.tolerances import FLOAT64, SAME_STEP

STATES, ACTIONS = 3, 5
AEPO_VARIANTS = [
    {"alpha": 0.5, "normalize": "positives", "ablation": "untempered"},
    {"alpha": 3.0, "normalize": "positives"}, {"alpha": 3.0, "ablation": "advantage"},
]
VARIANTS = [
    ("grpo", {"estimator": "leave-one-out", "dual_clip": 1.2}),
    ("clip-cov", {"ratio": 0.1, "lower": 0.05}),
    ("clip-cov", {"ratio": 0.3, "lower": -5.0, "cov_log_prob": "current", "base": "aent"}),
    ("kl-cov", {"ratio": 0.1}),
    ("kl-cov", {"ratio": 0.2, "penalty": "k3", "base": "entropy-advantage"}),
    ("reference-kl", {"estimator": "k3", "coefficient": 0.1, "base": "reinforce"}),
    ("reference-kl", {"estimator": "k1", "placement": "reward", "coefficient": 0.1}),
    ("entropy-bonus", {"target": 1.0, "base": "gspo"}),
    ("aent", {"adaptive": False, "coefficient": 0.3, "removed_fraction": 0.4}),
    ("aent", {"adaptive": False, "coefficient": 0.3, "removed_fraction": 0.0}),
    ("aepo", {"base": update_rules.get("aent", base="clip-higher")}),
]
CASES = [(name, {}) for name in update_rules.RULES] + VARIANTS + [("aepo", v) for v in AEPO_VARIANTS]
SAMPLED = [case for case in CASES if case[0] != "natural-gradient"]
COEFFICIENT = 0.4
"""What a controller would have chosen: unlike any rule's default."""


class TabularModel(torch.nn.Module):
    """One logit per (state, action), looked up: the smallest model autograd can train."""

    def __init__(self, logits: np.ndarray):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(logits, dtype=torch.float64))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return self.logits[state]


def policy_logits() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(STATES, ACTIONS))


def reference_logits() -> np.ndarray:
    return np.random.default_rng(6).normal(size=(STATES, ACTIONS))


def exact_batch(logits: np.ndarray, rule: update_rules.UpdateRule) -> TokenBatch:
    reward = (np.random.default_rng(8).random((STATES, ACTIONS)) < 0.5).astype(float)
    reward[:, 0], reward[:, 1] = 1.0, 0.0
    controller = rule.controller()
    temperature = None if controller is None else float(controller.temperature_high)
    batch = tabular.exact_batch(
        logits, reward, temperature=temperature, reference_logits=reference_logits(),
        removed_fraction=rule.needs.removed_fraction,
    )
    return off_policy(batch, rule)


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
        reference_log_prob=policy.log_softmax(reference_logits())[state, action],
        sampling_temperature=np.where(tempered, 1.2, 1.0),
        tempered=tempered,
        group=np.broadcast_to((np.arange(rows) // samples % groups)[:, None], shape),
        sequence=np.broadcast_to(np.arange(rows)[:, None], shape),
        state=state,
        action=action,
    )
    return off_policy(batch, rule)


def off_policy(batch: TokenBatch, rule: update_rules.UpdateRule) -> TokenBatch:
    """Ratios spread widely around 1, so that some tokens are clipped on either side."""
    drift = np.random.default_rng(10).normal(scale=0.3, size=batch.log_prob.shape)
    assert batch.entropy is not None
    batch = batch.replace(old_log_prob=batch.log_prob - drift, sampling_log_prob=batch.log_prob + drift,
                          old_entropy=batch.entropy * np.exp(0.3 * drift))
    if rule.coefficient_controller() is None:
        return batch
    return batch.replace(coefficient=np.full(batch.log_prob.shape, COEFFICIENT))


def as_torch(
    batch: TokenBatch, model: TabularModel, rule: update_rules.UpdateRule
) -> TokenBatch:
    """The batch in torch, its policy columns computed by the model, with gradient."""
    fixed = {
        name: torch.tensor(np.ascontiguousarray(getattr(batch, name)))
        for name in ("old_log_prob", "reward", "mask", "weight", "sampling_temperature",
                     "tempered", "group", "state", "action", "sequence", "coefficient",
                     "reference_log_prob", "sampling_log_prob", "old_entropy")
        if getattr(batch, name) is not None
    }
    statistics = token_statistics.from_logits(
        model(fixed["state"]), fixed["action"], removed_fraction=loss.clamped_fraction(rule)
    )
    return TokenBatch(
        **fixed, log_prob=statistics.log_prob, entropy=statistics.entropy,
        clamped_entropy=statistics.clamped_entropy,
    )


def gradient_step(model: TabularModel) -> np.ndarray:
    assert model.logits.grad is not None
    step = -model.logits.grad.numpy().copy()
    model.logits.grad = None
    return step


@pytest.mark.parametrize(
    ("make_batch", "name", "options"),
    [(exact_batch, *case) for case in CASES if case[1].get("estimator") != "leave-one-out"]
    + [(sampled_batch, *case) for case in SAMPLED],
    ids=lambda v: str(getattr(v, "__name__", v)),
)
def test_one_rule_two_scales(make_batch, name, options):
    """The trainer's gradient on a tabular module is the simulator's step, for every rule."""
    rule = update_rules.get(name, **options)
    logits = policy_logits()
    batch = make_batch(logits, rule)
    expected = tabular.logit_step(logits, batch, rule)
    assert np.abs(expected).max() > 1e-3  # a step of zero would prove nothing

    model = TabularModel(logits)
    loss.policy_loss(as_torch(batch, model, rule), rule).backward()
    np.testing.assert_allclose(gradient_step(model), expected, rtol=0, atol=SAME_STEP)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("name", "options"), SAMPLED, ids=lambda v: str(v))
def test_the_step_is_the_same_on_cuda(name, options):
    rule = update_rules.get(name, **options)
    steps = []
    for device in ("cpu", "cuda"):
        model = TabularModel(policy_logits()).to(device)
        batch = as_torch(sampled_batch(policy_logits(), rule), model.cpu(), rule)
        moved = map_columns(lambda column, to=device: column.to(to), batch)
        loss.policy_loss(moved, rule).backward()
        steps.append(gradient_step(model))
    np.testing.assert_allclose(steps[1], steps[0], rtol=0, atol=SAME_STEP)


def test_a_term_without_a_gradient_is_refused():
    """An entropy computed under no_grad makes a bonus do nothing, in several engines silently."""
    rule = update_rules.get("entropy-bonus", coefficient=0.3)
    model = TabularModel(policy_logits())
    batch = as_torch(sampled_batch(policy_logits(), rule), model, rule)
    with pytest.raises(ValueError, match="carries no gradient"):
        loss.policy_loss(batch.replace(entropy=batch.entropy.detach()), rule)


class Given(Reinforce):
    """A rule that says of three tokens of two sequences what the test below knows."""

    __slots__ = ()

    def scores(self, batch):
        return torch.tensor([[2.0, -1.0, 3.0], [1.0, 5.0, 0.0]], dtype=torch.float64)

    def state_terms(self, batch):
        return {"entropy": torch.tensor([[-1.0, 0.5, 7.0], [0.0, 9.0, 1.0]], dtype=torch.float64)}


def test_the_value_is_the_sum_that_the_docstring_says():
    """By hand: weights of 1, of -1 and of 0, where log pi is -inf; the last position of the first
    sequence is padding, and holds what must not be added."""
    def column(*values):
        return torch.tensor(values, dtype=torch.float64).reshape(2, 3)

    log_prob = column(-0.5, -2.0, -torch.inf, -1.0, -torch.inf, -3.0).requires_grad_()
    batch = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob.detach(), reward=column(0, 0, 0, 0, 0, 0),
        mask=torch.tensor([[True, True, False], [True, True, True]]),
        weight=column(1.0, -1.0, 2.0, 0.25, 0.0, 4.0),
        entropy=column(1.5, 1.0, -torch.inf, 2.0, 0.5, 0.25).requires_grad_())
    found = loss.objective(batch, Given())
    by_token = column(2 * -0.5 - 1.5, 1 * 2.0 + 0.5, 0.0, -1.0, 0.0, 0.25)
    assert torch.equal(found.by_token.detach(), by_token)
    value = loss.weighted_loss(found, batch)
    assert value.item() == -(-2.5 - 2.5 + 0.25 * -1.0 + 4 * 0.25)
    twice = loss.weighted_loss(found, batch, column(2, 2, 9, 2, 9, 2))
    assert twice.item() == 2 * value.item()
    value.backward()
    assert torch.equal(log_prob.grad, -column(2.0, 1.0, 0.0, 0.25, 0.0, 0.0))
    assert torch.equal(batch.entropy.grad, -column(-1.0, -0.5, 0.0, 0.0, 0.0, 4.0))


def test_an_action_never_taken_does_no_harm():
    """-inf log-probabilities have coefficient 0; 0 x inf must not reach the gradient."""
    rule = update_rules.get("entropy-bonus", coefficient=0.1)
    logits = policy_logits()
    logits[:, -1] = -np.inf
    batch = tabular.exact_batch(logits, np.eye(STATES, ACTIONS))
    model = TabularModel(logits)
    loss.policy_loss(as_torch(batch, model, rule), rule).backward()
    np.testing.assert_allclose(
        gradient_step(model)[:, :-1], tabular.logit_step(logits, batch, rule)[:, :-1],
        rtol=0, atol=SAME_STEP,
    )


def test_a_state_term_without_column_is_named():
    rule = update_rules.get("entropy-bonus")
    model = TabularModel(policy_logits())
    batch = as_torch(sampled_batch(policy_logits(), rule), model, rule).replace(entropy=None)
    with pytest.raises(ValueError, match=r"entropy-bonus.*'entropy'"):
        loss.policy_loss(batch, rule)


def test_statistics_have_the_gradients_of_their_definitions(monkeypatch):
    """The hand-written backward pass, cut into chunks, against autograd's finite differences."""
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 3 * ACTIONS)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 4, ACTIONS, dtype=torch.float64, generator=generator)
    ids = torch.randint(ACTIONS, (2, 4), generator=generator)

    def three(z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = token_statistics.from_logits(z, ids, removed_fraction=0.4)
        assert found.clamped_entropy is not None
        return found.log_prob, found.entropy, found.clamped_entropy

    assert torch.autograd.gradcheck(three, logits.requires_grad_())


def test_statistics_are_the_theory_s(monkeypatch):
    """Chunks are put back in order, and every column is what forecast.state_statistics defines."""
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 2 * ACTIONS)
    rng = np.random.default_rng(2)
    logits, ids = rng.normal(size=(3, 3, ACTIONS)), rng.integers(0, ACTIONS, (3, 3))
    found = token_statistics.from_logits(
        torch.tensor(logits), torch.tensor(ids), removed_fraction=0.45
    ).state
    expected = forecast.state_statistics(policy.log_softmax(logits), ids, removed_fraction=0.45)
    for name in ("log_prob", "entropy", "sum_squared_prob", "sum_squared_prob_log_prob",
                 "sum_squared_prob_squared_log_prob", "clamped_alignment"):
        np.testing.assert_allclose(
            getattr(found, name).numpy(), getattr(expected, name), rtol=64 * FLOAT64, atol=0
        )


def test_a_backward_pass_leaves_the_logits_and_can_be_repeated(monkeypatch):
    """Gradients are written over a copy; rows longer than a chunk are done one by one."""
    logits = torch.tensor(policy_logits(), requires_grad=True)
    before, ids = logits.detach().clone(), torch.tensor([0, 2, 4])
    found = token_statistics.from_logits(logits, ids, removed_fraction=0.4)
    total = (found.log_prob + 2 * found.entropy - found.clamped_entropy).sum()
    total.backward(retain_graph=True)
    first = logits.grad.clone()
    assert torch.equal(logits.detach(), before)
    total.backward()
    assert torch.equal(logits.grad, 2 * first)
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 1)
    alone = logits.detach().clone().requires_grad_()
    found = token_statistics.from_logits(alone, ids, removed_fraction=0.4)
    (found.log_prob + 2 * found.entropy - found.clamped_entropy).sum().backward()
    assert torch.equal(alone.grad, first)


@pytest.mark.parametrize("removed_fraction", [0.0, 0.2, 0.45, 0.8])
def test_clamped_entropy_is_the_theory_s(monkeypatch, removed_fraction):
    """Value and gradient against autograd of policy.clamped_entropy, the one definition, among ties
    and actions never taken; a removal by threshold alone would drop or keep all ties together."""
    monkeypatch.setattr(token_statistics, "CHUNK_ELEMENTS", 3 * ACTIONS)
    logits = torch.tensor([
        [0.3, -1.0, 2.0, 0.7, -0.2], [0.5, 0.5, 0.5, 0.5, 0.5], [1.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, -torch.inf, 1.0, -torch.inf, -torch.inf], [-40.0, 0.0, -40.0, -3.0, -3.0],
    ], dtype=torch.float64)
    ids = torch.zeros(5, dtype=torch.long)
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.7], dtype=torch.float64)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    found = token_statistics.from_logits(ours, ids, removed_fraction=removed_fraction)
    expected = policy.clamped_entropy(theirs, removed_fraction)
    assert found.clamped_entropy is not None
    torch.testing.assert_close(found.clamped_entropy, expected, rtol=64 * FLOAT64, atol=0)
    (found.clamped_entropy @ weights).backward()
    (expected @ weights).backward()
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=1e-14)


def test_what_a_rule_needs_is_found_inside_other_rules():
    """A clamped entropy or a reference policy may hide in a base or in a sum."""
    aent = update_rules.get("aent", removed_fraction=0.4)
    kl = update_rules.get("reference-kl", base=aent)
    for rule in (kl, update_rules.get("clip-cov", base=kl), update_rules.get("aepo", base=kl),
                 update_rules.combine(update_rules.get("grpo"), kl)):
        assert "reference_log_prob" in rule.needs.columns
        assert loss.clamped_fraction(rule) == 0.4
    assert loss.clamped_fraction(update_rules.get("aent", removed_fraction=0.0)) == 0
    plain = update_rules.get("entropy-bonus")
    assert loss.clamped_fraction(plain) is None
    assert "reference_log_prob" not in plain.needs.columns
