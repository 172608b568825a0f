"""Guards llm_bridge/accounting: what is said of an entropy change is what happened, part by part."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

from entropy_theory import update_rules
from entropy_theory.accounting import SHARE
from llm_bridge.accounting import entropy_gradient, rule_parts, step_accountant
from llm_bridge.accounting.accountant import Accountant, passes_of
from llm_bridge.accounting.optimizer_step import UnreadableStepError
from llm_bridge.accounting.step_accounts import rows_of
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.objective.batches import map_columns
from llm_bridge.objective.micro_batch import contributions
from tests.llm_bridge.language_models import low_digit, tabular_trainer
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights

EXACT = 1e-11
"""Nats: sums of some thousand float64 numbers of order 1."""
EXACT_IN_FLOAT32 = 1e-4
"""Of the sum of all tokens' parts: two backward passes and one forward, some hundred roundings each."""


class Accounts(transformers.TrainerCallback):
    """Keeps each step's account, and the micro-batches it is of."""

    def __init__(self, made, **options):
        self.made, self.steps, self.parts = made, [], []
        made.add_callback(Accountant(made, **options))
        made.add_callback(self)

    def on_optimizer_step(self, *_, **__):
        self.steps.append(self.made.entropy_account)
        self.parts.append(list(self.made.micro_batches))


def accounted(made, **options):
    found = Accounts(made, **options)
    made.train()
    return found


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.03),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.9, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1),
}


def small_llama(folder, optimizer="adamw", rule="grpo", **options):
    made = llama_trainer(folder, update_rules.get(rule) if isinstance(rule, str) else rule,
                         **{"max_grad_norm": 0.5, "steps": 3, **options})
    trained = [p for p in made.model.parameters() if p.requires_grad]
    made.optimizer = OPTIMIZERS[optimizer](trained)
    return made


# ------------------------------------------------------------------------------- independent logits


def test_a_tokens_part_is_its_own_covariance(tmp_path):
    """To first order on a tabular policy: learning rate x forecast (i) x the state's share."""
    made = tabular_trainer(tmp_path, update_rules.get("entropy-bonus", coefficient=0.5),
                           micro_batches=2)
    seen = []

    class Look(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, *_, **__):
            step = made.entropy_account
            # Before the tokens: what they take in place is the gradient that a unit is read from.
            assert step.change_per_coefficient is not None
            tokens = accountant._snapshot.announced_tokens()
            seen.append((accountant._divided(step, tokens), list(made.micro_batches)))

    accountant = Accountant(made, every=0, forecast_every=1, forecast_unit=True)
    made.add_callback(accountant)
    made.add_callback(Look())
    made.train()
    ((step, parts),) = seen
    assert step.account is None
    found = torch.cat(step.tokens.by_token).numpy()
    batch = step_batch(parts)
    expected = 0.5 * audited_tokens._shares(batch, torch.cat([contributions(p) for p in parts]))
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)
    # A unit of the coefficient is what the bonus adds: 0.5 of it is the bonus's own part.
    assert step.coefficient == 0.5
    assert 0.5 * step.change_per_coefficient == pytest.approx(
        step.by_rule["entropy-bonus"], abs=EXACT)
    assert step.by_rule["entropy-bonus"] > 1e-3
    assert step.base_change == pytest.approx(step.by_rule["grpo"], abs=EXACT)


@pytest.mark.parametrize(("rule", "options", "sequences"), [
    ("entropy-bonus", {}, None), ("entropy-bonus", {"normalization": "token-mean"}, None),
    ("entropy-bonus", {}, 2), ("diverse-bonus", {}, None)])
def test_a_unit_of_the_coefficient_is_what_its_tokens_add_up_to(tmp_path, rule, options, sequences):
    """An entropy bonus takes no pass of its own only where it is a multiple of what is measured: not
    with another mean, and not where some rows alone are."""
    made = small_llama(tmp_path, rule=update_rules.get(rule, coefficient=0.5, **options),
                       micro_batches=2, steps=2)
    seen = []

    class Look(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, *_, **__):
            # A step accountant of its own, whose tokens are told apart whatever the first did.
            every, measured = rows_of(passes_of(made), made.accelerator, accountant._choose)
            own = step_accountant.StepAccountant(
                accountant.gradient, every, made.optimizer, clip=accountant._clipping.factor,
                measured=measured, keeps="slope")
            effects = own.announced_tokens().of(rule_parts.per_unit(made.rule, list(made.micro_batches)))
            seen.append((made.entropy_account.change_per_coefficient,
                         math.fsum(float(e.sum(dtype=torch.float64)) for e in effects)))

    accountant = Accountant(made, every=0, forecast_every=1, forecast_unit=True, sequences=sequences)
    made.add_callback(accountant)
    made.add_callback(Look())
    made.train()
    assert len(seen) == 2
    for found, expected in seen:
        assert abs(expected) > 1e-5
        assert found == pytest.approx(expected, rel=EXACT_IN_FLOAT32)


def step_batch(parts):
    return map_columns(lambda *columns: torch.cat(columns), *(p.batch for p in parts))


# -------------------------------------------------------------------------------- shared parameters


@pytest.mark.parametrize("optimizer", ["momentum", "adamw"])
def test_on_a_transformer_parts_add_up_to_the_measured_change(tmp_path, optimizer):
    """Within 2 %, and tokens to their part; forecast (i) is another number."""
    records = []
    made = small_llama(tmp_path, optimizer, on_step=records.append, steps=4)
    found = accounted(made)
    expected = {"gradient", "clipping", "rounding", "momentum", "weight_decay"}
    for place, step in enumerate(found.steps):
        account = step.account
        assert abs(account.measured) > 1e-4
        assert account.converged
        assert abs(account.residual) <= 0.02 * abs(account.measured) + 1e-6
        assert account.parts.keys() == (expected - {"momentum"} if place == 0 else expected)
        # Norms compute in float32, whose rounding stands here for all of it.
        assert abs(account.parts["rounding"]) < 1e-9
        assert step.tokens.trusted
        assert step.tokens.gap < EXACT_IN_FLOAT32
        assert step.tokens.total == pytest.approx(
            account.parts["gradient"] + account.parts["clipping"], abs=EXACT)
    gaps = [abs(r["forecast_entropy_change"] - r["measured_entropy_change"]) for r in records]
    assert max(gaps) > 1e-3


def flat(step):
    numbers = [step.entropy, step.account.measured, *step.forecast_parts.values(),
               *step.account.parts.values(), *step.by_answer.values(), *step.by_rule.values()]
    return np.array(numbers)


@pytest.mark.filterwarnings("ignore:.*use_reentrant.*:")
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad.*:")
def test_micro_batches_and_checkpointing_change_nothing(tmp_path):
    """Rows that come in parts are one step: same entropy, forecast, account, tokens."""
    cut = {"micro_batches": 4, "gradient_checkpointing": True,
           "gradient_checkpointing_kwargs": {"use_reentrant": True}}
    whole, parts = (accounted(small_llama(tmp_path, "momentum", steps=2, **options)).steps
                    for options in ({}, cut))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(flat(one), flat(other), rtol=1e-4, atol=1e-7)


class NoForwardMode(torch.autograd.Function):
    """A kernel of a user's own, with a gradient alone."""

    @staticmethod
    def forward(ctx, values):
        return values.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_a_model_without_forward_mode_has_differences_and_says_so(tmp_path, caplog):
    """Once; they agree with the derivatives to what a symmetric difference leaves."""
    found = []
    for plain in (True, False):
        made = small_llama(tmp_path / str(plain), "sgd", steps=2)
        norm = made.model.model.norm
        if not plain:
            norm.register_forward_hook(lambda module, inputs, output: NoForwardMode.apply(output))
        caplog.clear()
        found.append(torch.cat(accounted(made).steps[0].tokens.by_token))
        told = [r for r in caplog.records if "by differences, not by derivatives" in r.message]
        assert len(told) == (0 if plain else 1)
    # The first of two steps: both trainers are still at the same weights.
    error = (found[0] - found[1]).abs().sum() / found[0].abs().sum()
    assert 0 < error < 0.01


def test_a_dead_batch_moves_by_momentum_and_decay_alone(tmp_path):
    """All rewards equal from the second step on: no gradient, and yet entropy moves."""
    made = small_llama(tmp_path, "momentum", steps=2)
    made.reward_funcs[0] = lambda **rows: [
        one * (made.state.global_step == 0) for one in low_digit(**rows)]
    first, second = accounted(made).steps
    assert first.account.parts["gradient"] != 0
    assert second.account.parts["gradient"] == 0
    assert not any(effects.any() for effects in second.tokens.by_token)
    assert second.tokens.gap == 0
    moved = second.account.parts["momentum"] + second.account.parts["weight_decay"]
    assert abs(moved) > 1e-4
    assert moved == pytest.approx(second.account.measured, rel=0.02)


def test_the_account_is_that_of_the_rows_and_weights_of_the_step(tmp_path):
    """Entropy before and after, from the model itself at these weights, of the first rows; all tokens are
    told apart."""
    count, made = 5, small_llama(tmp_path, "adamw", steps=1, micro_batches=2)
    start, found = weights(made), Accounts(made, sequences=count, share=1e-4)
    made.train()
    end, (step,), (parts,) = weights(made), found.steps, found.parts
    plain, means = made.accelerator.unwrap_model(made.model), []
    for table in (start, end):
        plain.load_state_dict(table, strict=False)
        with torch.no_grad():
            logits = made.logits(plain, parts[0].inputs)[:count]
        mask = parts[0].batch.mask[:count]
        entropy = torch.distributions.Categorical(logits=logits).entropy()
        means.append(((entropy * mask).sum(-1) / mask.sum(-1)).mean().item())
    assert step.entropy == pytest.approx(means[0], abs=1e-6)
    assert step.account.measured == pytest.approx(means[1] - means[0], abs=2e-6)
    assert step.account.converged
    assert sum(len(effect) for effect in step.tokens.by_token) == 24
    assert step.tokens.gap < EXACT_IN_FLOAT32


def test_a_sum_of_rules_is_divided_into_its_rules(tmp_path):
    """Also those that its rules modify."""
    bonus = update_rules.get("entropy-bonus", coefficient=0.5)
    both = update_rules.combine(bonus, update_rules.get("reinforce"))
    (step,) = accounted(small_llama(tmp_path / "sum", "sgd", both, steps=1)).steps
    assert list(step.by_rule) == ["1.entropy-bonus", "1.grpo", "2.reinforce"]
    assert min(map(abs, step.by_rule.values())) > 1e-6
    assert sum(step.by_rule.values()) == pytest.approx(sum(step.by_answer.values()), abs=1e-9)


def test_a_reference_is_one_of_the_rules(tmp_path):
    """Its penalty is nothing where the policy is the reference yet; then minus coefficient x log ratio x
    what a unit of the token's own log-probability does."""
    made = tabular_trainer(tmp_path, update_rules.get("reference-kl", coefficient=0.5), steps=2,
                           micro_batches=2)
    found = accounted(made)
    for step, parts in zip(found.steps, found.parts, strict=True):
        assert list(step.by_rule) == ["reference-kl", "grpo"]
        batch = step_batch(parts)
        derivative = torch.cat([one["log_prob"] for one in step.tokens.derivatives])
        ratio = batch.log_prob - batch.reference_log_prob
        expected = float((-0.5 * ratio * derivative).mean())
        assert step.by_rule["reference-kl"] == pytest.approx(expected, abs=EXACT)
        assert step.tokens.gap < EXACT
        assert math.fsum(float(effect.sum()) for effect in step.tokens.by_token) == pytest.approx(
            sum(step.by_rule.values()), abs=EXACT)
    first, second = (step.by_rule["reference-kl"] for step in found.steps)
    assert abs(first) < EXACT
    assert abs(second) > 1e-6


def in_turn(completions, **_):
    """Rewards that are not of the answers: both in every group, though all of its answers be one."""
    return [float(place % 2) for place in range(len(completions))]


@pytest.mark.parametrize(("scale", "rule"), [(0.0, "grpo"), (1e3, "entropy-bonus")])
def test_the_ends_of_the_range_of_entropies(tmp_path, scale, rule):
    """A uniform policy and one that is certain: no first order, no NaN, and nothing made of nothing.

    Near certainty tokens do some 1e-99 nats, in which rounding is all there is: they are trusted only
    where they add up.
    """
    made = tabular_trainer(tmp_path, update_rules.get(rule), steps=1, reward=in_turn)
    table = made.model.table.weight
    with torch.no_grad():
        table *= scale
    (step,) = accounted(made).steps
    largest = math.log(table.shape[1])
    assert step.entropy == pytest.approx(0.0 if scale else largest, abs=EXACT)
    # At either end the entropy is stationary.
    assert abs(step.forecast) < EXACT
    account = step.account
    assert account.converged
    numbers = [*account.parts.values(), *step.by_rule.values(), *step.by_answer.values(),
               account.measured, step.tokens.gap]
    assert all(map(math.isfinite, numbers))
    assert all(bool(torch.isfinite(effect).all()) for effect in step.tokens.by_token)
    if scale:
        assert abs(account.measured) < EXACT
        assert abs(step.tokens.total) < EXACT
    else:
        # Down from the top, by second order, and told to its tokens.
        assert account.measured < -1e-5
        assert step.tokens.trusted
        assert account.accounted == pytest.approx(account.measured, rel=SHARE)
        assert step.tokens.gap < EXACT


def test_tied_embeddings_count_once(tmp_path):
    """Tied weights are one parameter, with the gradients of both of its uses."""
    model = llama(tie_word_embeddings=True)[0]
    table = model.get_input_embeddings()
    with torch.no_grad():
        table.weight[table.padding_idx].normal_(std=0.5)
    table.padding_idx = None
    made = small_llama(tmp_path, "adamw", model=model, steps=2)
    made.optimizer.param_groups[0]["lr"] = 1e-4
    gradient = entropy_gradient.EntropyGradient(made.model, made.accelerator)
    assert len(gradient.parameters) == len(list(llama()[0].parameters())) - 1
    for step in accounted(made).steps:
        assert step.account.converged
        assert step.tokens.gap < EXACT_IN_FLOAT32


# ------------------------------------------------------------------------------------------- errors


class Sign(torch.optim.SGD):
    """An optimizer of a user's own."""


def test_any_optimizer_is_read_after_its_step(tmp_path):
    """Refused before the step; after it the change is one part, and the same."""
    found = {}
    for kind, options in ((Sign, {"reads": "after"}), (torch.optim.SGD, {})):
        made = small_llama(tmp_path, "sgd", steps=2)
        made.optimizer = kind(made.model.parameters(), lr=0.03)
        found[kind] = accounted(made, **options).steps
    for own, torchs in zip(found[Sign], found[torch.optim.SGD], strict=True):
        assert own.account.parts.keys() == {"step"}
        assert own.tokens is None
        assert own.account.accounted == pytest.approx(torchs.account.accounted, abs=EXACT)
        assert own.forecast == pytest.approx(torchs.forecast, abs=EXACT)
    made = small_llama(tmp_path, "sgd")
    made.optimizer = Sign(made.model.parameters(), lr=0.03)
    with pytest.raises(UnreadableStepError, match=r"step of Sign cannot be read.*reads='after'"):
        accounted(made)


@pytest.mark.deep
def test_an_account_takes_no_more_memory_than_said():
    """A gradient held twice while it is summed up, or one that outlives its use: `step_accountant`."""
    # glibc keeps freed blocks of this size otherwise.
    returning = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    told = subprocess.run(
        [sys.executable, "-m", "tests.llm_bridge.accounting.step_memory"], capture_output=True, text=True,
        check=True, env=returning).stdout
    peaks = [float(peak) for peak in told.split()]
    # None, one gradient, and two copies of the weights; besides up to 13 weights of 32 (0.4) are at work.
    # Measured: 0.07, 1.04, 3.14, 4.14.
    assert peaks == [pytest.approx(whole + 0.2, abs=0.2) for whole in (0, 1, 3, 4)]
