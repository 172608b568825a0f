r"""Diverse bonus: a base rule plus coefficient x the gradient of the entropy among the right answers.

With q = pi given a right answer, p the probability of a right answer and l(y) = log pi(y | prompt),
summed over the tokens of y, the bonus pushes along

.. math::

    p\, \nabla H(q) = E_{y \sim \pi}[\mathbf{1}\{y \text{ right}\}\, x(y)\, \nabla l(y)], \quad
    x(y) = -(l(y) - E_q\, l).

It pushes rare right answers up and common ones down, and does nothing at wrong ones. Over right answers x
has mean 0 under q. Entropy among right answers remains once a prompt is solved
(`extension.entropy-ceiling`). Every such step raises it (`extension.diverse-bonus`). Under the natural
gradient it costs no reward, under the plain gradient a price that vanishes as p tends to 1.

From samples x_i = -(l_i - mean of l over the k right answers of the group). It is 0 at wrong answers, and
where the group has no other right answer. Its own l_i in the mean makes it (k - 1)/k of the unbiased
estimate. So the expected bonus of a group of G samples is the exact one times

.. math::

    1 - \frac{1 - (1 - p)^G}{p\, G}.

A listing of all answers, weighted by their probabilities, gives the exact one: the mean goes by
``weight``.

l is the log-probability under the policy that sampled (``old_log_prob``). So x judges the answer that was
drawn, once, as its advantage does. Later optimizer steps on the same samples move by ratio times x,
clipped by the base rule's bounds. Under the current policy x would have to be summed over the whole batch
for every step. The difference would be of second order in the movement of the steps.

x has no bound: it is as large as an answer is rare. Under q its second moment is at most that of log q,
about log(number of right answers)^2. An answer that is drawn with probability q_i brings q_i log^2 q_i to
it. An answer of probability 0 is never drawn, and adds 0 to a listing. Long answers spread: l is a sum
over tokens.
"""

from __future__ import annotations

import math

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import RATIO
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.bonus import Bonus, root_mean_square
from entropy_theory.update_rules.clipped_ratio import length_factor, ratio, unclipped
from entropy_theory.update_rules.modifier import clip_bounds
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("diverse-bonus")
class DiverseBonus(Bonus):
    """The base rule's scores plus coefficient x ratio x x, clipped, on right answers of ordinary rows."""

    coefficient: Array = 0.05
    """Reward per nat of surprise among right answers, a number or one per run. An adapted coefficient
    starts from it."""
    normalization: str = "token-mean"
    """How the bonus is averaged over tokens. With "token-mean" (divided by the mean length here) and
    "dr-grpo" (divided by the longest) it is the gradient of an entropy. "sequence-mean" divides each
    answer's part by its own length, as GRPO does."""
    positive_reward: float = 1.0
    """An answer is right where its reward is at least this."""

    def _check(self) -> None:
        Bonus._check(self)
        if math.isnan(self.positive_reward):
            raise ValueError("positive_reward must be a number, got nan")

    @property
    def _needs(self) -> Needs:
        return Needs(columns=self._columns_of_prompts,
                     reads={RATIO, "old_log_prob"} | self._reads_of_schedule)

    def surprise(self, batch: TokenBatch) -> TokenColumn:
        """Return x of each token's answer, [..., sequences, positions], nats; 0 but at right ones."""
        xp = namespace(batch.log_prob)
        rows = batch.is_ordinary
        right = rows & advantages.right_answers(batch, rows, self.positive_reward)
        # What counts for nothing may be -inf, as an answer of probability 0 in a listing is.
        log_prob = xp.where(right & (batch.weight > 0), batch.old_log_prob,
                            xp.zeros_like(batch.log_prob))
        of_answer = xp.sum(log_prob, axis=-1, keepdims=True)
        centered = advantages.group_mean(batch, right, of_answer) - of_answer
        return xp.where(right, centered, xp.zeros_like(batch.log_prob))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        factor = length_factor(batch, batch.is_ordinary, self.normalization)
        return Bonus._prepare(self, batch).with_prepared(
            **{f"{self.name}.gain": self.surprise(batch) * factor})

    def _scores(self, batch: TokenBatch) -> TokenColumn:
        gain, r = self._strength(batch) * batch.prepared[f"{self.name}.gain"], ratio(batch)
        xp = namespace(r)
        bonus = xp.where(unclipped(r, gain, *clip_bounds(self.base)), r * gain, xp.zeros_like(r))
        return self.base.scores(batch) + bonus

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return ``right_answer_spread``, and what `Bonus.metrics` returns.

        The first is the root mean square of the surprise over right answers, in nats and by weight. It is
        the standard deviation of their log-probabilities within prompts, and 0 where the bonus does
        nothing.
        """
        rows = batch.is_ordinary
        right = rows & advantages.right_answers(batch, rows, self.positive_reward)
        spread = root_mean_square(batch, right, self.surprise(batch))
        return self._with_base_metrics(
            batch, {"right_answer_spread": spread, **self._metrics_of_prompts(batch)})
