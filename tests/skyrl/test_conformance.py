"""Guards llm_bridge/skyrl_plugin.py: through SkyRL's registry a rule is SkyRL's loss, where it has one.

Gradients by the tokens' log-probabilities are compared, as in tests/verl/test_conformance.py and to as
many units. SkyRL makes the ratio of PPO in float32, whatever it is given.
"""

import dataclasses

import pytest

pytest.importorskip("skyrl", reason="SkyRL is not here: make test-skyrl")

import cloudpickle
import torch
from skyrl.backends.skyrl_train.utils.ppo_utils import (
    PolicyLossRegistry,
    apply_loss_reduction_to_advantages_minibatch,
)

from entropy_theory import update_rules
from llm_bridge import skyrl_plugin, verl_plugin
from llm_bridge.skyrl_plugin import PREFIX
from tests.rules_by_hand import OPTIONS

ROWS, POSITIONS, UNITS = 12, 7, 64
REDUCTIONS = ("token_mean", "token_mean_legacy", "sequence_mean", "seq_mean_token_sum_norm",
              "prompt_mean")
Algorithm = skyrl_plugin.algorithm_config()


@pytest.fixture(autouse=True)
def _registered():
    skyrl_plugin.register()


@dataclasses.dataclass
class Batch:
    """Columns [sequences, positions], padded on the right; advantages as an estimator leaves them."""

    old_log_prob: torch.Tensor
    log_prob: torch.Tensor
    advantages: torch.Tensor
    mask: torch.Tensor
    rollout_log_prob: torch.Tensor

    def map(self, change) -> "Batch":
        return Batch(**{field.name: change(getattr(self, field.name))
                        for field in dataclasses.fields(self)})

    def reduced(self, reduction: str) -> "Batch":
        """With advantages as SkyRL's trainer hands them to its workers."""
        return dataclasses.replace(self, advantages=apply_loss_reduction_to_advantages_minibatch(
            self.advantages, self.mask, reduction, micro_batch_size=4, max_seq_len=50,
            prompt_boundaries=[(0, 5), (5, 6), (6, ROWS)]))


def random_batch(seed: int = 0, *, drift: float = 0.3) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator, dtype=torch.float64)

    shape = (ROWS, POSITIONS)
    mask = torch.arange(POSITIONS) < torch.randint(0, POSITIONS + 1, (ROWS, 1), generator=generator)
    old = -2 * torch.rand(shape, generator=generator, dtype=torch.float64).log().neg()
    columns = (old, old + drift * normal(*shape), normal(ROWS, 1).expand(shape), mask.double(),
               old + 0.1 * normal(*shape))
    return Batch(*(torch.where(mask, column, 0.0) for column in columns))


def algorithm(loss: str = "regular", rule_options=None, **options):
    """SkyRL's configuration of the algorithm, without the reference KL that it adds by default."""
    return Algorithm(policy_loss_type=loss, rule_options=rule_options or {},
                     **{"use_kl_loss": False, **options})


def ours(rule: str, rule_options=None, **options):
    return algorithm(PREFIX + rule, rule_options, **options)


def hook(batch: Batch, config):
    """(gradient by log_prob, loss, metrics), of the call that SkyRL's worker makes."""
    log_prob = batch.log_prob.clone().requires_grad_()
    loss, metrics = PolicyLossRegistry.get(config.policy_loss_type)(
        log_prob, batch.old_log_prob, batch.advantages.clone(), config=config, loss_mask=batch.mask,
        rollout_logprobs=batch.rollout_log_prob)
    loss.backward()
    return log_prob.grad, loss.detach(), metrics


def assert_close(found, expected, dtype=None) -> None:
    assert expected.abs().max() > 1e-5  # two zeros would agree on anything
    torch.testing.assert_close(
        found, expected, rtol=UNITS * torch.finfo(dtype or expected.dtype).eps, atol=0)


CASES = {
    "grpo is regular": ({}, "regular", {}, ("grpo", {"clip_high": 0.2}), torch.float32),
    "clip-higher is regular": (
        {}, "regular", {"eps_clip_high": 0.28}, ("clip-higher", {}), torch.float32),
    "grpo is dual_clip": (
        {"drift": 1.0}, "dual_clip", {"eps_clip_high": 0.28},
        ("grpo", {"clip_high": 0.28, "dual_clip": 3.0}), torch.float32),
    "gspo": (
        {"drift": 1e-3}, "gspo",
        {"eps_clip_low": 3e-4, "eps_clip_high": 4e-4, "loss_reduction": "sequence_mean"},
        ("gspo", {}), None),
}


CORRECTIONS = (
    {}, {"tis_ratio_type": "token", "token_tis_ratio_clip_high": 1.1},
    {"sequence_mask_metric": "geometric", "geo_mask_high": 1.05, "geo_mask_low": 0.95})


@pytest.mark.parametrize(("reduction", "dtype", "correction"), [
    (reduction, (torch.float64, torch.float32)[place % 2], CORRECTIONS[place % 3])
    for place, reduction in enumerate(REDUCTIONS)])
@pytest.mark.parametrize("case", CASES)
def test_a_rule_is_skyrl_s_loss(case, reduction, dtype, correction):
    """Every reduction, both precisions, with SkyRL's corrections of the sampler's probabilities."""
    drawn, loss, options, (rule, rule_options), precision = CASES[case]
    theirs, mine = algorithm(loss, **options), ours(rule, rule_options)
    for config in (theirs, mine):
        for name, value in correction.items():
            setattr(config.off_policy_correction, name, value)
    for seed in range(3):
        batch = random_batch(seed, **drawn).map(lambda column: column.to(dtype)).reduced(reduction)
        expected, _, shown = hook(batch, theirs)
        found, _, own_shown = hook(batch, mine)
        assert_close(found, expected, precision)
        if loss == "dual_clip":  # SkyRL's does not count what the dual clip silences
            assert own_shown["clipped_fraction"] > shown["clip_ratio"]
        else:
            assert own_shown["clipped_fraction"] == pytest.approx(shown["clip_ratio"], rel=1e-6)
        assert set(own_shown) > set(shown) - {"clip_ratio"}


def test_where_nothing_is_clipped_the_loss_has_skyrl_s_value():
    """Gradients decide; the logged loss is minus the sum of the scores, SkyRL's where no clip binds."""
    batch = random_batch(drift=0.01).reduced("token_mean")
    value, expected = (hook(batch, config)[1] for config in (ours("grpo"), algorithm("regular")))
    # A sum of terms of both signs: rounding is relative to the sum of their sizes.
    size = (batch.advantages * batch.mask).abs().sum()
    assert abs(value - expected) <= UNITS * torch.finfo(torch.float32).eps * size


def test_reinforce_has_the_advantage_for_a_score():
    batch = random_batch().reduced("token_mean")
    assert_close(hook(batch, ours("reinforce"))[0], -batch.advantages * batch.mask)


RUN = (
    "aspo", "ce-gppo", "cispo", "dcpo", "dppo", "fipo", "gmpo", "grpo", "gspo", "reinforce", "repo-r",
    "sampler-correction", "sapo", "topr", "vespo", "w-reinforce")


@pytest.mark.parametrize("rule", RUN)
def test_micro_batches_add_up_to_the_rule(rule):
    """What gradient accumulation rests on: advantages alone normalize."""
    batch, options = random_batch(1).reduced("sequence_mean"), OPTIONS.get(rule, {})
    parts = [hook(batch.map(lambda column, rows=rows: column[rows]), ours(rule, options))[0]
             for rows in (slice(0, 1), slice(1, 5), slice(5, ROWS))]
    assert_close(torch.cat(parts), of_whole(batch, rule, **options))


def test_a_rule_corrects_for_the_sampler_as_skyrl_does():
    batch, theirs = random_batch(2).reduced("token_mean"), algorithm("regular")
    theirs.off_policy_correction.tis_ratio_type = "token"
    theirs.off_policy_correction.token_tis_ratio_clip_high = 1.1
    assert_close(hook(batch, ours("sampler-correction", {"high": 1.1}))[0], hook(batch, theirs)[0],
                 torch.float32)
    theirs = algorithm("dppo")
    theirs.dppo = dataclasses.replace(theirs.dppo, delta_high=0.02)
    mine = {"anchor": "sampling", "delta_high": 0.02, "truncation": 1e9}
    assert_close(hook(batch, ours("dppo", mine))[0], hook(batch, theirs)[0], torch.float32)
    twice = ours("sampler-correction")
    twice.off_policy_correction.tis_ratio_type = "token"
    with pytest.raises(ValueError, match=r"both correct.*leave trainer.*off_policy_correction"):
        hook(batch, twice)
    batch.rollout_log_prob = None
    with pytest.raises(ValueError, match=r"set generator\.sampling_params\.logprobs=1"):
        hook(batch, ours("sampler-correction"))


def test_a_micro_batch_without_tokens_has_no_gradient():
    """SkyRL pads with such, where micro-batches are cut by tokens."""
    batch = random_batch()
    batch.mask[:] = 0
    gradient, loss, metrics = hook(batch, ours("grpo"))
    assert not gradient.any()
    assert loss == 0
    assert metrics["clipped_fraction"] == 0


def test_a_loss_travels_as_skyrl_s_registry_sends_it():
    """By cloudpickle, through a Ray actor, to workers that know no plugin."""
    batch, config = random_batch().reduced("token_mean"), ours("grpo", {"clip_high": 0.3})
    sent = cloudpickle.loads(cloudpickle.dumps(PolicyLossRegistry.get(config.policy_loss_type)))
    config = cloudpickle.loads(cloudpickle.dumps(config))
    log_prob = batch.log_prob.clone().requires_grad_()
    loss, _ = sent(log_prob, batch.old_log_prob, batch.advantages, config=config, loss_mask=batch.mask)
    loss.backward()
    assert torch.equal(log_prob.grad, hook(batch, ours("grpo", {"clip_high": 0.3}))[0])


# ------------------------------------------------------------------ what SkyRL does not show a loss


def of_whole(batch: Batch, name: str, **options) -> torch.Tensor:
    """The gradient of a rule that sees a whole mini-batch with its advantages, as SkyRL sums losses."""
    log_prob = batch.log_prob.clone().requires_grad_()
    rule = verl_plugin.make_rule(name, options)
    columns = verl_plugin.token_batch(
        batch.old_log_prob, log_prob, batch.advantages, batch.mask,
        sampling_log_prob=batch.rollout_log_prob, seed=0)
    verl_plugin.objective_and_metrics(columns, rule)[0].sum().neg().backward()
    return log_prob.grad


COV = {"cov_log_prob": "current"}


def test_on_whole_advantages_the_covariance_rules_are_skyrl_s():
    """Its formulas are the rules'; it is what they are given that is not."""
    batch = random_batch(3)
    theirs = algorithm("clip_cov")
    theirs.clip_cov = dataclasses.replace(
        theirs.clip_cov, clip_ratio=1.0, clip_cov_lb=0.3, clip_cov_ub=2.0)
    assert_close(of_whole(batch, "clip-cov", ratio=1.0, lower=0.3, upper=2.0, **COV),
                 hook(batch, theirs)[0])
    theirs = algorithm("kl_cov")
    theirs.kl_cov = dataclasses.replace(theirs.kl_cov, kl_cov_frac=0.2, ppo_kl_coef=0.5)
    assert_close(of_whole(batch, "kl-cov", ratio=0.2, coefficient=0.5, **COV), hook(batch, theirs)[0])


def test_on_divided_advantages_skyrl_s_own_covariance_rules_are_others():
    """Why ours are refused. Clip-Cov's band is in units of an advantage, so that none of a few tokens is
    in it once the advantages are divided, and it is PPO; KL-Cov's penalty is not divided with them."""
    batch = random_batch(3)
    divided = batch.reduced("token_mean")
    tokens = float(batch.mask.sum())
    theirs = algorithm("clip_cov")
    theirs.clip_cov = dataclasses.replace(theirs.clip_cov, clip_ratio=1.0, clip_cov_lb=0.3)
    assert hook(batch, theirs)[2]["clip_ratio"] > 0.02
    assert hook(divided, theirs)[2]["clip_ratio"] == 0
    assert_close(hook(divided, theirs)[0], hook(divided, algorithm("regular"))[0], torch.float32)
    theirs = algorithm("kl_cov")
    penalty = hook(divided, theirs)[0] - of_whole(divided, "kl-cov", ratio=0.0)
    assert penalty.abs().max() == pytest.approx(1.0, rel=1e-9)  # not 1 / tokens
    whole = hook(batch, theirs)[0] - of_whole(batch, "kl-cov", ratio=0.0)
    assert (whole / tokens).abs().max() == pytest.approx(1 / tokens, rel=1e-9)


# ------------------------------------------------------------------------------------ configuration


@pytest.mark.parametrize(("config", "message"), [
    (ours("grpo", eps_clip_high=0.28), r"does not read SkyRL's option eps_clip_high=0\.28"),
    (ours("grpo", use_kl_loss=True), r"trainer\.algorithm\.use_kl_loss=false"),
    (ours("grpo", use_entropy_loss=True), r"trainer\.algorithm\.use_entropy_loss=false"),
    (ours("grpo", {"clip_hi": 0.3}), "did you mean clip_high"),
])
def test_what_would_not_be_the_rule_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        hook(random_batch(), config)


LINE = ["trainer.override_entrypoint=llm_bridge.skyrl_plugin", "trainer.algorithm.use_kl_loss=false"]


def test_options_arrive_from_the_command_line():
    config = skyrl_plugin.configured([
        *LINE, "trainer.algorithm.policy_loss_type=entropy-theory/grpo",
        "trainer.algorithm.rule_options.clip_high=0.3", "trainer.algorithm.eps_clip_low=0.2"])
    algorithm = cloudpickle.loads(cloudpickle.dumps(config)).trainer.algorithm
    rule = skyrl_plugin.rule_of(algorithm, "grpo")
    assert rule == update_rules.get("grpo", clip_high=0.3, normalization="token-mean")
    assert algorithm.temperature == 1


def test_a_wrong_rule_is_refused_before_a_worker_starts_and_without_one_the_loss_is_skyrl_s():
    with pytest.raises(ValueError, match="did you mean grpo"):
        skyrl_plugin.configured([*LINE, "trainer.algorithm.policy_loss_type=entropy-theory/grppo"])
    assert skyrl_plugin.configured(LINE).trainer.algorithm.policy_loss_type == "regular"
