"""Advantages that compare a reward with the group's, or the batch's, mean and spread."""

from __future__ import annotations

import math

import numpy as np

from entropy_theory import rounding
from entropy_theory.advantages.groups import Groups, check_equal_weights, over_sample_deviation
from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.token_batch import TokenBatch, sequence_value, sequence_weight


def reward(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """Return the reward itself, without a baseline (AEPO, section 3.1); it may differ by token."""
    return batch.reward


def group_normalized(batch: TokenBatch, rows: TokenMask, *, ddof: int = 0) -> TokenColumn:
    r"""Return :math:`(R - \operatorname{mean}) / \operatorname{std}` within each prompt's group (GRPO;
    AEPO, section 3.1).

    A group whose rewards are all equal carries no signal and gets 0, exactly; `equal_reward_groups`
    counts them. No small constant is added to the standard deviation.

    Args:
        ddof: 0 divides by G (population), 1 by :math:`G - 1` as verl and TRL do; 1 needs equally weighted
            samples.
    """
    group = Groups(batch, rows)
    return over_sample_deviation(group.normalized(batch.reward), batch, rows, group, ddof)


def leave_one_out(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """R minus the mean of the group's other rewards (RLOO), for equally weighted samples.

    Raises ValueError for a group of a single sequence (there are no others) and for unequal weights.
    """
    xp = namespace(batch.reward)
    check_equal_weights(batch, rows, "leave-one-out")
    group = Groups(batch, rows)
    if not batch.checked and not bool(xp.all(xp.where(rows, group.size > 1, True))):
        raise ValueError("leave-one-out needs at least two sequences of each prompt, found one")
    return group.centered(batch.reward) * group.size / xp.clip(group.size - 1, 1, None)


def batch_normalized(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """(R - mean) / std over all sequences of the batch (REINFORCE++, arXiv 2501.03262, Eq. 8).

    0 where all rewards are equal. REINFORCE++ also puts a KL penalty into the reward: combine with
    the rule ``reference-kl`` in placement "reward".
    """
    return Groups(batch.replace(group=None), rows).normalized(batch.reward)


def group_centered_batch_normalized(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """R minus its group's mean, over the batch's standard deviation (REINFORCE++-baseline)."""
    return Groups(batch.replace(group=None), rows).normalized(group_centered(batch, rows))


def above_length_weighted(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    r"""R minus the mean of the group's rewards by length (OPO, arXiv 2505.23585).

    The baseline :math:`\sum |o| R / \sum |o|` has the least variance where the squared norm of an
    answer's gradient grows as its length. verl's ``opo``.
    """
    xp = namespace(batch.weight)
    length = xp.sum(xp.astype(rows, batch.weight.dtype), axis=-1, keepdims=True)
    return Groups(batch.replace(weight=batch.weight * length), rows).centered(batch.reward)


def signal_weighted(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    r"""Return :math:`(R - \operatorname{mean}) \times B / (B - M)`, where M of B answers have equal
    rewards in their group.

    This is the estimator of GPG (arXiv 2504.02546), which takes it without a ratio: use ``reinforce``
    with it. In place of :math:`B - M` the ``gpg`` of verl has the number of answers with a reward
    other than 0. Its step therefore depends on how many answers are right.
    """
    xp = namespace(batch.weight)
    weight = sequence_weight(batch, rows)
    flat = xp.any(without_signal(batch, rows), axis=-1, keepdims=True)
    total, live = (xp.sum(column, axis=-2, keepdims=True)
                   for column in (weight, xp.where(flat, xp.zeros_like(weight), weight)))
    factor = total / xp.where(live > 0, live, xp.ones_like(live))
    return group_centered(batch, rows) * factor


def max_likelihood(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """(R - mean) / mean within each prompt's group (MaxRL, arXiv 2602.02710).

    With rewards 0 and 1 it is the gradient of the logarithm of the chance of a right answer, but for
    groups without one, which get 0. The division by the mean is TRL's MaxRLTrainer's.

    Raises:
        ValueError: a reward below 0.
    """
    xp = namespace(batch.reward)
    if not batch.checked and not bool(xp.all(~rows | (batch.reward >= 0))):
        raise ValueError("the maximum-likelihood advantage needs rewards of at least 0")
    group = Groups(batch, rows)
    mean = group.mean(batch.reward)
    some = mean > 0
    advantage = group.centered(batch.reward) / xp.where(some, mean, xp.ones_like(mean))
    return xp.where(some, advantage, xp.zeros_like(advantage))


def signed(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """Return :math:`2 R - 1`, 1 at right answers and -1 at wrong ones, without a baseline (arXiv
    2506.01347).

    With rewards of 1 and -1 take `reward`.
    """
    reward = sequence_value(batch.reward, rows, checked=batch.checked)
    return 2 * reward - namespace(reward).ones_like(batch.reward)


def group_mean(batch: TokenBatch, rows: TokenMask, column: Array) -> TokenColumn:
    """Mean of a sequence-level column over each row's prompt, by weight: broadcasts to the rows."""
    return Groups(batch, rows).mean(column)


def group_largest(batch: TokenBatch, rows: TokenMask, column: Array) -> TokenColumn:
    """Largest value of a sequence-level column in each row's prompt: broadcasts to the rows."""
    return Groups(batch, rows).largest(column)


def right_answers(batch: TokenBatch, rows: TokenMask, positive_reward: float) -> Array:
    """Boolean [..., sequences, 1]: the reward of the sequence, read where ``rows`` holds, is enough.

    Enough is ``positive_reward`` or more, up to rounding: .7 + .2 + .1 is 1. This is R = 1 of AEPO's
    Eq. 1.
    """
    return rounding.at_least(
        sequence_value(batch.reward, rows, checked=batch.checked), positive_reward)


def group_centered(batch: TokenBatch, rows: TokenMask) -> TokenColumn:
    """R - mean within each prompt's group, without a standard deviation (Dr.GRPO).

    0 exactly where it is rounding alone, and where the group's rewards are all equal.
    """
    return Groups(batch, rows).centered(batch.reward)


def without_signal(batch: TokenBatch, rows: TokenMask) -> TokenMask:
    """Boolean: the rewards of this row's group are all equal (DAPO drops such groups)."""
    return Groups(batch, rows).is_flat(batch.reward) & rows


def overlong_penalty(batch: TokenBatch, max_length: int, buffer: int) -> Array:
    """DAPO's soft punishment: 0 up to max_length - buffer tokens, -1 at max_length, linear between.

    Args:
        max_length: length of a response that was cut off.
        buffer: tokens over which the penalty grows, 1..max_length.

    Returns:
        [..., sequences, positions], in [-1, 0].

    Raises:
        ValueError: a buffer outside 1..max_length.
    """
    if not 1 <= buffer <= max_length:
        raise ValueError(f"buffer must be in 1..{max_length} (max_length), got {buffer}")
    xp = namespace(batch.reward)
    ones = xp.ones_like(batch.reward)
    length = xp.sum(xp.astype(batch.mask, ones.dtype), axis=-1, keepdims=True)
    return ones * xp.clip((max_length - buffer - length) / buffer, -1.0, 0.0)


def expected_group_normalized(
    batch: TokenBatch, rows: TokenMask, *, group_size: int, ddof: int = 0
) -> TokenColumn:
    r"""Return the exact expectation of `group_normalized` over groups of G sampled responses.

    For a binary reward the expected GRPO step is kappa(p) times the gradient of p, the probability of a
    right answer. The expected advantage of an action is therefore :math:`\kappa (R - p)` with

    .. math::

        \kappa(p) = \frac{E_{k \sim \operatorname{Binomial}(G, p)} \sqrt{k/G\, (1 - k/G)}}{p\, (1 - p)}.

    kappa tends to :math:`\sqrt{G - 1}` as p tends to 0 or 1.

    Args:
        group_size: G, at least 2; ``weight`` must list each state exactly.
        ddof: 0 or 1, as in `group_normalized`.

    Raises:
        ValueError: group_size below 2, a reward other than 0 or 1, or rows that are samples.
    """
    xp = namespace(batch.reward)
    binary = rounding.near(batch.reward, 0.0) | rounding.near(batch.reward, 1.0)
    if not batch.checked and not bool(xp.all(~rows | binary)):
        raise ValueError("the expected group-normalized advantage needs rewards of 0 and 1 only")
    check_listing(
        batch, rows,
        batch.old_log_prob if batch.sampling_log_prob is None else batch.sampling_log_prob,
        f"option group_size={group_size} takes the exact expectation over groups of sampled answers, but "
        "these rows are samples. Leave group_size None to use the batch's own groups, or list every "
        "answer with its probability as weight (tabular.listing)",
    )
    group = Groups(batch, rows)
    right, wrong = group.mean(batch.reward), group.mean(1 - batch.reward)
    kappa = group_normalization_gain(right, wrong, group_size=group_size, ddof=ddof)
    return kappa * (batch.reward * wrong - (1 - batch.reward) * right)


def group_normalization_gain(
    right: Array, wrong: Array, *, group_size: int, ddof: int = 0
) -> Array:
    r"""Return kappa(p), the factor that a group's standard deviation puts before the gradient of p.

    Args:
        right: p, any shape, in [0, 1].
        wrong: 1 - p, given apart so that nothing is lost as p tends to 1.
        group_size: G, at least 2.
        ddof: 0 or 1, as in `group_normalized`.

    Returns:
        The shape of ``right``. For ddof 0 values lie between 0 and :math:`\sqrt{G - 1}`.

    Raises:
        ValueError: group_size below 2.
    """
    if group_size < 2:
        raise ValueError(f"group_size must be at least 2, got {group_size}")
    xp = namespace(right)
    # Binomial coefficients are below 2^G: up to the root of the largest float nothing overflows.
    by_powers = group_size <= math.log2(float(xp.finfo(right.dtype).max)) / 2
    kappa = (_by_powers if by_powers else _by_logarithms)(right, wrong, group_size)
    return kappa * math.sqrt((group_size - 1) / group_size) if ddof else kappa


def _by_powers(right: Array, wrong: Array, group_size: int) -> Array:
    """Return ``sum_k C(G, k) sqrt(k/G (1 - k/G)) p^(k-1) (1-p)^(G-k-1)``, exact to rounding, and fast."""
    xp = namespace(right)
    right_powers, wrong_powers = [xp.ones_like(right)], [xp.ones_like(wrong)]
    for _ in range(group_size - 2):
        right_powers.append(right_powers[-1] * right)
        wrong_powers.append(wrong_powers[-1] * wrong)
    kappa = xp.zeros_like(right)
    for k in range(1, group_size):
        # Dividing by p (1 - p) lowers both exponents by one: nothing overflows near 0 or 1.
        spread = math.comb(group_size, k) * math.sqrt(k / group_size * (1 - k / group_size))
        kappa = kappa + spread * right_powers[k - 1] * wrong_powers[group_size - k - 1]
    return kappa


def _by_logarithms(right: Array, wrong: Array, group_size: int) -> Array:
    """The sum of `_by_powers`, each term the exponential of its logarithm: relative error about G eps."""
    xp = namespace(right)
    log_right, log_wrong = (
        xp.where(p > 0, xp.log(xp.where(p > 0, p, xp.ones_like(p))), xp.full_like(p, -math.inf))
        for p in (right, wrong)
    )
    kappa = xp.zeros_like(right)
    for k in range(1, group_size):
        # The logarithm of a Python integer has full precision, whatever its size.
        spread = math.log(math.comb(group_size, k)) + math.log(k * (group_size - k)) / 2
        exponent = xp.full_like(right, spread - math.log(group_size))
        for power, log_p in ((k - 1, log_right), (group_size - k - 1, log_wrong)):
            exponent = exponent + power * log_p if power else exponent
        kappa = kappa + xp.exp(exponent)
    return kappa


def check_listing(batch: TokenBatch, rows: Array, log_prob: Array, message: str) -> None:
    """Raise ValueError(message) unless the rows list every answer of each group, once.

    A row's share of its group's weight must be the probability of its answer, by its tokens'
    ``log_prob``, so that the probabilities of a group sum to 1. Where the batch has ``state`` and
    ``action``, no answer may stand twice. A batch that says it is ``listed`` is taken at its word.
    """
    if batch.listed or batch.checked:
        return
    xp = namespace(batch.weight)
    total = xp.sum(xp.where(rows, log_prob, xp.zeros_like(log_prob)), axis=-1, keepdims=True)
    group = Groups(batch, rows)
    present = xp.any(rows, axis=-1, keepdims=True)
    # Rounding of a probability from its logarithm, and of a sum over many rows.
    tolerance = max(1e-6, 64 * float(xp.finfo(total.dtype).eps))
    is_listing = ~present | (abs(group.share - xp.exp(total)) <= tolerance)
    if not bool(xp.all(is_listing)) or _has_repeated_answers(batch, rows):
        raise ValueError(message)


def _has_repeated_answers(batch: TokenBatch, rows: Array) -> bool:
    """Whether two sequences end in one state with one action; False where the batch has neither."""
    if batch.state is None or batch.action is None:
        return False
    rows, state, action = (to_numpy(column) for column in (rows, batch.state, batch.action))
    last = np.argmax(rows * np.arange(rows.shape[-1]), axis=-1, keepdims=True)
    runs = np.arange(math.prod(rows.shape[:-2])).reshape(*rows.shape[:-2], 1, 1)
    ends = (np.take_along_axis(ids, last, axis=-1) for ids in (state, action))
    answers = np.concatenate(np.broadcast_arrays(runs, *ends), axis=-1)[rows.any(axis=-1)]
    return len(np.unique(answers, axis=0)) < len(answers)


def equal_reward_groups(batch: TokenBatch, rows: TokenMask) -> Array:
    """Share of sequences, by weight, whose group's rewards are all equal: [...], in [0, 1]."""
    xp = namespace(batch.reward)
    degenerate = without_signal(batch, rows)
    weight = sequence_weight(batch, rows)
    flat = xp.max(xp.where(degenerate, weight, xp.zeros_like(weight)), axis=-1, keepdims=True)
    total = xp.sum(weight, axis=(-2, -1))
    return xp.sum(flat, axis=(-2, -1)) / xp.where(total > 0, total, xp.ones_like(total))
