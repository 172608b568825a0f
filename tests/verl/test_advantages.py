"""Guards docs/departures.md: verl's advantages are ours, or differ as the page says, by as much.

verl's own estimators run on uneven groups of completions of uneven lengths. Where they should be ours,
what may be left is rounding: sums of up to ROWS rewards of at most 1, each rounded by half an ulp, and a
handful of operations on them, over the smallest standard deviation that is divided by. Where they
should not, verl's number is made of ours by the one thing that is said to differ, to the same rounding,
and the largest difference is within the bounds that the page's size is rounded from.
"""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("verl")

import torch
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo.core_algos import get_adv_estimator_fn
from verl.utils.torch_functional import masked_whiten

from entropy_theory import advantages
from entropy_theory.token_batch import TokenBatch

ROWS, POSITIONS = 24, 6
SEEDS = range(20)
SIZES = (6, 5, 4, 4, 3, 2)
ROUNDING = 4 * (ROWS + 8) * torch.finfo(torch.float64).eps
CONSTANT = 1e-6
"""What verl adds to a group's standard deviation."""
WHITENING_CONSTANT = 1e-8
"""What verl adds to the batch's variance, and to the counts of tokens that it divides by."""


@dataclasses.dataclass
class Completions:
    """Rewards [sequences] in sevenths, groups [sequences], and the mask [sequences, positions]."""

    reward: torch.Tensor
    group: torch.Tensor
    mask: torch.Tensor

    @property
    def alive(self) -> torch.Tensor:
        return self.mask.any(1)

    def kept(self, rows: torch.Tensor) -> "Completions":
        return Completions(self.reward[rows], self.group[rows], self.mask[rows])

    def smallest_deviation(self) -> float:
        """Of a group's rewards, over G - 1."""
        groups = [self.reward[self.group == group] for group in self.group.unique()]
        return min(float(rewards.std()) for rewards in groups)


def completions(seed: int, *, sizes=SIZES, lengths=None, masked: int = 0) -> Completions:
    """Groups of ``sizes`` in random order; each but the last two loses ``masked`` rows to the mask."""
    generator = torch.Generator().manual_seed(seed)
    rows = sum(sizes)
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    reward = torch.randint(0, 7, (rows,), generator=generator).double() / 7
    for of_group in range(len(sizes)):  # no group of equal rewards; those have a test of their own
        first = int((group == of_group).nonzero()[0])
        if sizes[of_group] > 1 and (reward[group == of_group] == reward[first]).all():
            reward[first] = (reward[first] + 3 / 7) % 1
    length = torch.randint(1, POSITIONS + 1, (rows, 1), generator=generator)
    mask = torch.arange(POSITIONS) < (length if lengths is None else lengths)
    for of_group in range(len(sizes) - 2):
        mask[(group == of_group).nonzero()[:masked, 0]] = False
    order = torch.randperm(rows, generator=generator)
    return Completions(reward[order], group[order], mask[order])


def theirs(name: str, batch: Completions, **options) -> torch.Tensor:
    """verl's advantages, [sequences, positions]; the reward is at the last position, as a trainer's."""
    rewards = torch.zeros(batch.mask.shape, dtype=torch.float64)
    last = (batch.mask * torch.arange(POSITIONS)).amax(1)
    rewards[torch.arange(len(last)), last] = batch.reward
    return get_adv_estimator_fn(name)(
        token_level_rewards=rewards, response_mask=batch.mask.double(), index=batch.group.numpy(),
        config=AlgoConfig(gamma=1.0), **options)[0]


def ours(name: str, batch: Completions, *, weight=None, **options) -> torch.Tensor:
    """The estimator's advantages, [sequences, positions], 0 outside the mask."""
    def repeated(column):
        return column[:, None].expand(batch.mask.shape).contiguous()

    log_prob = torch.zeros(batch.mask.shape, dtype=torch.float64)
    weight = torch.ones(len(batch.reward), dtype=torch.float64) if weight is None else weight.double()
    columns = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, reward=repeated(batch.reward), mask=batch.mask,
        weight=repeated(weight), group=repeated(batch.group))
    found = advantages.ESTIMATORS[name](columns, batch.mask, **options)
    return torch.where(batch.mask, found, 0.0)


def same(found: torch.Tensor, expected: torch.Tensor, *, divided_by: float = 1.0, beside=0.0) -> None:
    assert expected.abs().max() > 0.1  # two zeros would agree on anything
    torch.testing.assert_close(found, expected, rtol=0, atol=ROUNDING / divided_by**2 + beside)


def same_whitened(found, expected, *, deviation: float, tokens: int) -> None:
    """verl divides sums over N tokens by N + 1e-8: its mean, at most 1, and half of the relative change
    of its variance, of advantages of at most 1 / deviation, are off by that."""
    same(found, expected, divided_by=deviation,
         beside=1.5 * WHITENING_CONSTANT / tokens / deviation)


# ------------------------------------------------------------------------------------------- equal


@pytest.mark.parametrize("seed", SEEDS)
def test_grpo_is_verl_s_but_for_its_constant(seed):
    """c / (s + 1e-6) there, c / s here."""
    batch = completions(seed)
    deviation = torch.stack([batch.reward[batch.group == group].std() for group in batch.group])
    expected = ours("group-normalized", batch, ddof=1) * (deviation / (deviation + CONSTANT))[:, None]
    same(theirs("grpo", batch), expected, divided_by=batch.smallest_deviation())
    # verl's other code for it computes in float32.
    torch.testing.assert_close(
        theirs("grpo_vectorized", batch), expected, rtol=0,
        atol=ROUNDING / batch.smallest_deviation()**2 * 2.0**29)


@pytest.mark.parametrize("seed", SEEDS)
def test_dr_grpo_is_verl_s_without_the_deviation(seed):
    batch = completions(seed)
    same(ours("group-centered", batch), theirs("grpo", batch, norm_adv_by_std_in_grpo=False))


@pytest.mark.parametrize("name", ["rloo", "rloo_vectorized"])
@pytest.mark.parametrize("seed", SEEDS)
def test_leave_one_out_is_verl_s(name, seed):
    batch = completions(seed)
    same(ours("leave-one-out", batch), theirs(name, batch))


REINFORCE = [("reinforce_plus_plus", "reinforce++"),
             ("reinforce_plus_plus_baseline", "reinforce++-baseline")]


@pytest.mark.parametrize(("name", "estimator"), REINFORCE)
@pytest.mark.parametrize("seed", SEEDS)
def test_of_equal_lengths_reinforce_plus_plus_is_one(name, estimator, seed):
    """But for N - 1 tokens under verl's variance, and the constant beside it."""
    batch = completions(seed, lengths=torch.full((ROWS, 1), 4))
    found = theirs(name, batch)
    spread = batch.reward if estimator == "reinforce++" else ours("group-centered", batch)[:, 0]
    same_whitened(found, ours(estimator, batch) * whitening(spread.var(correction=0), 4 * ROWS),
                  deviation=float(spread.std()), tokens=4 * ROWS)


def whitening(variance: torch.Tensor, tokens: int) -> torch.Tensor:
    """What verl's whitening of ``tokens`` numbers is of a division by the standard deviation."""
    return torch.sqrt(variance / (variance * tokens / (tokens - 1) + WHITENING_CONSTANT))


@pytest.mark.parametrize("seed", SEEDS)
def test_opo_is_verl_s(seed):
    batch = completions(seed)
    same(ours("opo", batch), theirs("opo", batch))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_margin_of_the_best_is_verl_s_but_for_its_constant(seed):
    batch = completions(seed)
    deviation = torch.stack([batch.reward[batch.group == group].std() for group in batch.group])
    expected = ours("best-over-second", batch, ddof=1) * (deviation / (deviation + CONSTANT))[:, None]
    found = theirs("grpo_passk", batch)
    torch.testing.assert_close(found, expected, rtol=0, atol=ROUNDING / batch.smallest_deviation()**2)


def given(name: str, batch: Completions, **columns) -> torch.Tensor:
    """The advantages of `advantages.given`, [sequences, positions], 0 outside the mask."""
    shape = batch.mask.shape
    log_prob = columns.pop("log_prob", torch.zeros(shape, dtype=torch.float64))
    rows = TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, mask=batch.mask,
        reward=batch.reward[:, None].expand(shape).contiguous(),
        weight=torch.full(shape, 1 / ROWS, dtype=torch.float64),
        group=batch.group[:, None].expand(shape).contiguous())
    return torch.where(batch.mask, getattr(advantages, name)(rows, batch.mask, **columns), 0.0)


@pytest.mark.parametrize("name", ["optimal_token_baseline", "tir_optimal_token_baseline"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimal_token_baseline_is_verl_s_but_for_its_constant(name, seed):
    """1e-8 beside the sum of norms, the least of which is .01 here. The second estimator counts the
    answer's own tokens: of one with holes in its mask, those that are left."""
    batch = completions(seed)
    generator = torch.Generator().manual_seed(seed)
    probability = 0.1 + 0.8 * torch.rand(batch.mask.shape, generator=generator, dtype=torch.float64)
    squares = probability**2 + (1 - probability) ** 2 / 9
    if name.startswith("tir"):
        batch.mask[:, 1] = False
        batch = dataclasses.replace(batch, mask=batch.mask | (torch.arange(POSITIONS) == 0))
    found = theirs(name, batch, old_log_probs=probability.log(), sum_pi_squared=squares)
    found = found[0] if isinstance(found, tuple) else found
    expected = given("optimal_token_baseline", batch, squares=squares, log_prob=probability.log())
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_remax_is_verl_s(seed):
    batch = completions(seed)
    greedy = torch.linspace(0, 1, ROWS, dtype=torch.float64)
    rewards = torch.zeros(batch.mask.shape, dtype=torch.float64)
    rewards[torch.arange(ROWS), batch.mask.sum(1) - 1] = batch.reward
    found = get_adv_estimator_fn("remax")(
        token_level_rewards=rewards, reward_baselines=greedy, response_mask=batch.mask.double())[0]
    same(given("above_greedy", batch, greedy=greedy[:, None].expand(batch.mask.shape)), found)


@pytest.mark.parametrize("seed", SEEDS)
def test_generalized_advantages_are_verl_s_before_it_whitens_them(seed):
    batch = completions(seed)
    values = torch.rand(
        batch.mask.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rewards = torch.zeros(batch.mask.shape, dtype=torch.float64)
    rewards[torch.arange(ROWS), batch.mask.sum(1) - 1] = batch.reward
    found = get_adv_estimator_fn("gae")(
        token_level_rewards=rewards, values=values, response_mask=batch.mask.double(), gamma=0.9,
        lam=0.7)[0]
    mine = given("generalized", batch, values=values, discount=0.9, decay=0.7)
    expected = masked_whiten(mine, batch.mask.double())
    same(found[batch.mask], expected[batch.mask], divided_by=float(mine[batch.mask].std()))


@pytest.mark.parametrize("seed", SEEDS)
def test_gdpo_of_one_reward_and_equal_lengths_is_verl_s(seed):
    """But for its two constants, 1e-6 beside a group's deviation and N - 1 under the batch's."""
    batch = completions(seed, lengths=torch.full((ROWS, 1), 4))
    reward = batch.reward[:, None].expand(batch.mask.shape)
    mine = given("decoupled", batch, rewards=[reward], ddof=1)
    torch.testing.assert_close(
        theirs("gdpo", batch), mine * (1 - 1 / (4 * ROWS)) ** 0.5, rtol=0, atol=1e-4)


# ------------------------------------------------------------------------------------- departures


@pytest.mark.parametrize("seed", SEEDS)
def test_gpg_there_counts_answers_with_a_reward(seed):
    """B / (B - M) here; there B over the number of rewards that are not 0, a quotient in float32."""
    batch = completions(seed)
    batch.reward[batch.group == 0] = 1.0
    live, right = int((batch.group != 0).sum()), int(batch.reward.count_nonzero())
    same(theirs("gpg", batch), ours("gpg", batch) * (live / right), beside=2.0**-22)
    assert live != right or seed == 4  # where as many have a reward, by chance


@pytest.mark.parametrize(("name", "estimator", "options", "masked", "low", "high"), [
    ("grpo", "group-normalized", {"ddof": 1}, 0, 1e-5, 3e-5),  # verl's constant
    ("grpo", "group-normalized", {"ddof": 1}, 2, 1.3, 1.5),  # masked rows
    *((*names, {}, 0, 0.6, 0.75) for names in REINFORCE)])  # counting tokens
def test_departures_have_the_size_that_the_page_names(name, estimator, options, masked, low, high):
    batches = [completions(seed, masked=masked) for seed in SEEDS]
    assert low < max(float((theirs(name, batch) - ours(estimator, batch, **options)).abs().max())
                     for batch in batches) < high


@pytest.mark.parametrize("seed", SEEDS)
def test_masked_rows_are_in_verl_s_baseline_alone(seed):
    """verl's advantage is what ours would be if the masked rows were not; ours, as if they were not
    there. Which is right: `tests/llm_bridge/test_departures.py`, where they are cut off."""
    batch = completions(seed, masked=2)
    shown = dataclasses.replace(batch, mask=torch.where(
        batch.alive[:, None], batch.mask, torch.arange(POSITIONS) < 1))
    for options, estimator in (({}, "group-normalized"),
                               ({"norm_adv_by_std_in_grpo": False}, "group-centered")):
        found, same_rows = theirs("grpo", batch, **options), theirs("grpo", shown, **options)
        assert torch.equal(found[batch.alive], same_rows[batch.alive])
        of_estimator = {"ddof": 1} if estimator == "group-normalized" else {}
        mine = ours(estimator, batch, **of_estimator)
        same(mine[batch.alive], ours(estimator, batch.kept(batch.alive), **of_estimator))
        assert (mine - found).abs().max() > 0.1


@pytest.mark.parametrize(("name", "estimator"), REINFORCE)
@pytest.mark.parametrize("seed", SEEDS)
def test_reinforce_plus_plus_there_counts_tokens(name, estimator, seed):
    """verl's is ours with completions weighted by their lengths, after the groups' means."""
    batch = completions(seed)
    length = batch.mask.sum(1)
    centered = batch.reward if estimator == "reinforce++" else ours("group-centered", batch)[:, 0]
    values = dataclasses.replace(batch, reward=centered)
    mean = (length * centered).sum() / length.sum()
    variance = (length * (centered - mean) ** 2).sum() / length.sum()
    expected = ours("reinforce++", values, weight=length) * whitening(variance, int(length.sum()))
    same_whitened(theirs(name, batch), expected, deviation=float(variance) ** 0.5,
                  tokens=int(length.sum()))
    assert (theirs(name, batch) - ours(estimator, batch)).abs().max() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_second_mean_of_verl_s_baseline_variant_pushes_groups_without_signal(seed):
    """All rewards of a prompt equal: nothing is to be learned from it, and it moves all the same."""
    batch = completions(seed)
    batch.reward[batch.group == 0] = 1.0
    pushed = theirs("reinforce_plus_plus_baseline", batch)[batch.group == 0]
    assert pushed.abs().max() > 1e-5  # no rounding; 1e-4 where lengths happen to tell little
    assert ours("reinforce++-baseline", batch)[batch.group == 0].abs().max() <= ROUNDING


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prompt_with_one_completion_keeps_its_reward_in_verl_alone(seed):
    batch = completions(seed, sizes=(6, 4, 1, 1))
    alone = batch.group >= 2
    constant = float(torch.tensor(1.0) + CONSTANT)  # its deviation of one is a float32
    for options, estimator, scale in (({}, "group-normalized", 1 / constant),
                                      ({"norm_adv_by_std_in_grpo": False}, "group-centered", 1)):
        found = theirs("grpo", batch, **options)[alone][:, 0]
        torch.testing.assert_close(found, batch.reward[alone] * scale, rtol=0, atol=ROUNDING)
        assert (ours(estimator, batch)[alone] == 0).all()


def test_leave_one_out_of_one_is_refused_and_in_verl_two_things():
    """Its plain code leaves the reward, its vectorized code 0."""
    batch = completions(3, sizes=(6, 4, 1, 1))
    alone = batch.group >= 2
    assert batch.reward[alone].max() > 0
    assert torch.equal(theirs("rloo", batch)[alone][:, 0], batch.reward[alone])
    assert (theirs("rloo_vectorized", batch)[alone] == 0).all()
    with pytest.raises(ValueError, match="at least two sequences of each prompt"):
        ours("leave-one-out", batch)


def test_rewards_that_differ_by_rounding_are_a_full_step_in_verl_alone():
    """1e-6 beside the deviation does not cover the rounding of large rewards."""
    batch = completions(0, sizes=(4,))
    batch.reward = torch.tensor([1e4, 1e4, 1e4, np.nextafter(np.float32(1e4), np.float32(2e4))]).double()
    assert theirs("grpo", batch).abs().max() > 0.9
    assert (ours("group-normalized", batch, ddof=1) == 0).all()
