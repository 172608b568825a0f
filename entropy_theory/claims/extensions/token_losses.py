r"""What a token loss does to entropy: one formula for all, and which losses are the same on policy.

An update rule is a coefficient s_a of grad log pi(a). With tokens drawn from the policy itself, one state
and c_a = pi_a (log pi_a + H), C = E c, the expected step is pi (s - E s) and

    dH/d eta = -Cov_pi(s, c) = -sum_a pi_a s_a (c_a - C).

A number added to all s changes nothing. Entropy does not rise if s is ordered like the policy, and does
not fall if it is ordered the other way round: c - C changes sign once (`sign_rules`).

Losses of the ratio r = pi/pi_old have s = A at r = 1, whatever their options. So on policy they are one
loss, plain policy gradient. How fast s departs from A with r differs: by A in PPO, CISPO, CE-GPPO, DPPO
and SAPO, which is what keeps the expectation right off policy, by (k - lambda) A in VESPO, by -beta in
DRO and by 0 in TOPR where A > 0.

With rewards 0 and 1 every s that depends on the answer's reward alone, a on right answers and -b on wrong
ones, has the step (a + b) d+, where d+ = 1_{A*} pi - p pi. Estimators of advantages differ in a + b, the
speed, and not in direction: the sign of dH is that of -sum_{A*} pi_a (c_a - C).
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import ordered, plain_covariance
from entropy_theory.claims.entropy_mechanism.token_contributions import first_order, score_step
from entropy_theory.claims.later_work.entrocraft import positives_only, rate_of_positives
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative, implies

SCORE = vf.Vector(name="score", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
"""s, or an advantage."""


def expected_step(logits: ar.Reals, score: ar.Reals) -> ar.Reals:
    """sum_a pi_a s_a (e_a - pi), per unit learning rate."""
    return score_step(logits, ar.softmax(logits) * score)


def moves_entropy(logits: ar.Reals, step: ar.Reals, rate: ar.Reals) -> vf.Term:
    """Entropy has this derivative along the step."""
    return has_derivative(lambda t: ar.entropy(logits + ar.per_action(t) * step), 0, rate)


def _products(values: ar.Reals, logits: ar.Reals) -> ar.Reals:
    return ((values[..., :, None] - values[..., None, :])
            * (logits[..., :, None] - logits[..., None, :]))


loss_coefficient = vf.Claim(
    id="extension.loss-coefficient",
    source="ours: every loss that multiplies grad log pi of a token by a coefficient",
    title="What a token coefficient does to entropy, and its sign where it is ordered like the policy",
    scope="one tabular state, on-policy, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Tokens of coefficient $s_a$: $dH/d\eta=-\mathrm{Cov}_\pi(s,c)$, "
              r"$c_a=\pi_a(\log\pi_a+H)$. A constant added to $s$ changes no step. If $s$ is ordered "
              r"like the policy, entropy does not rise; if the other way round, it does not fall.",
        margin=lambda i: (first_order(i.logits, expected_step(i.logits, i.score))
                          + plain_covariance(i.logits, i.score)),
        relation="==",
        beyond=lambda i: (
            moves_entropy(i.logits, expected_step(i.logits, i.score),
                          -plain_covariance(i.logits, i.score)),
            for_every("baseline", (), lambda b: vf.elementwise(
                "equal", expected_step(i.logits, i.score - ar.per_action(b)),
                expected_step(i.logits, i.score)).all()),
            implies(ordered(_products(i.score, i.logits)) >= 0,
                    plain_covariance(i.logits, i.score) >= 0),
            implies(ordered(_products(-i.score, i.logits)) >= 0,
                    plain_covariance(i.logits, i.score) <= 0),
        ),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(SCORE,)),
    mutants=(
        vf.mutant("the covariance with log pi itself", margin=lambda i: (
            first_order(i.logits, expected_step(i.logits, i.score))
            + ar.covariance(ar.softmax(i.logits), i.score, i.logits))),
    ),
)

# ---------------------------------------------------------------- losses of the ratio


def _option(name: str, largest: float | None = None) -> vf.Scalar:
    kept = vf.POSITIVE if largest is None else vf.Range(
        low=0, open_low=True, high=1, open_high=True)
    return vf.Scalar(name=name, low=0.05, high=largest or 5.0, grid=(Fraction(1, 2),), range=kept)


OPTIONS = (_option("clip_low", 0.9), _option("clip_high", 0.9), _option("kept_low"),
           _option("kept_high"), _option("delta", 0.9), _option("tau"), _option("power"),
           _option("decay"), _option("beta"), _option("shift"))


@vf.definition
def ce_gppo(r: ar.Reals, score: ar.Reals, clip_low: ar.Reals, clip_high: ar.Reals,
            kept_low: ar.Reals, kept_high: ar.Reals) -> ar.Reals:
    """CE-GPPO's coefficients; with nothing kept beyond the clip those of PPO."""
    low, high = 1 - ar.per_action(clip_low), 1 + ar.per_action(clip_high)
    rises = np.where(ar.less(high, r), ar.per_action(kept_high) * high, r)
    falls = np.where(ar.less(r, low), ar.per_action(kept_low) * low, r)
    return score * np.where(ar.less(0 * score, score), rises, falls)


@vf.definition
def cispo(r: ar.Reals, clip_low: ar.Reals, clip_high: ar.Reals) -> ar.Reals:
    """CISPO's weight clip(r, 1 - eps_low, 1 + eps_high)."""
    return ar.minimum(ar.maximum(r, 1 - ar.per_action(clip_low)), 1 + ar.per_action(clip_high))


@vf.definition
def dppo(policy: ar.Reals, old: ar.Reals, score: ar.Reals, delta: ar.Reals) -> ar.Reals:
    """DPPO's r A, and 0 where pi has moved along A by more than delta."""
    along = np.where(ar.less(0 * score, score), policy - old, old - policy)
    return np.where(ar.less(ar.per_action(delta), along), 0 * score, policy / old * score)


@vf.definition
def gate(r: ar.Reals, tau: ar.Reals) -> ar.Reals:
    """SAPO's weight r f'(r) = 4 r s (1 - s), s = sigmoid(tau (r - 1))."""
    decay = np.exp(-ar.per_action(tau) * (r - 1))
    return 4 * r * decay / (1 + decay) ** 2


@vf.definition
def bump(r: ar.Reals, power: ar.Reals, decay: ar.Reals) -> ar.Reals:
    """VESPO's weight phi(r) = r^k exp(lambda (1 - r))."""
    return np.exp(ar.per_action(power) * np.log(r) + ar.per_action(decay) * (1 - r))


@vf.definition
def topr(r: ar.Reals, score: ar.Reals) -> ar.Reals:
    """TOPR's A where A > 0, min(r, 1) A elsewhere."""
    return np.where(ar.less(0 * score, score), score, ar.minimum(r, 0 * r + 1) * score)


@vf.definition
def dro(r: ar.Reals, score: ar.Reals, beta: ar.Reals) -> ar.Reals:
    """DRO's A - beta log r."""
    return score - ar.per_action(beta) * np.log(r)


def coefficients(i: vf.Cases, policy: ar.Reals, old: ar.Reals) -> dict[str, ar.Reals]:
    """Return the coefficients of tokens of probability pi, and pi_old when sampled, by loss."""
    r, zero = policy / old, 0 * i.tau
    return {
        "grpo": ce_gppo(r, i.score, i.clip_low, i.clip_high, zero, zero),
        "ce-gppo": ce_gppo(r, i.score, i.clip_low, i.clip_high, i.kept_low, i.kept_high),
        "cispo": cispo(r, i.clip_low, i.clip_high) * i.score,
        "dppo": dppo(policy, old, i.score, i.delta),
        "sapo": gate(r, i.tau) * i.score,
        "vespo": bump(r, i.power, i.decay) * i.score,
        "topr": topr(r, i.score),
        "dro": dro(r, i.score, i.beta),
    }


def _departures(i: vf.Cases) -> ar.Reals:
    """Each loss's coefficients minus the advantage, where the old logits are larger by a constant."""
    old = ar.softmax(i.logits + ar.per_action(i.shift))
    found = coefficients(i, ar.softmax(i.logits), old)
    return np.concatenate([s - i.score for s in found.values()], axis=-1)


def _slopes(i: vf.Cases) -> tuple[vf.Term, ...]:
    """The slopes at ratio 1 of SAPO's weight, of VESPO's and of DRO's penalty."""
    def slope(weight: Callable[[vf.Term], ar.Reals], value: ar.Reals) -> vf.Term:
        return has_derivative(
            lambda t: weight(ar.per_action(t) + 0 * i.score), 1, value + 0 * i.score).all()

    return (
        slope(lambda r: gate(r, i.tau), ar.per_action(0 * i.tau + 1)),
        slope(lambda r: bump(r, i.power, i.decay), ar.per_action(i.power - i.decay)),
        slope(lambda r: dro(r, i.score, i.beta), ar.per_action(-i.beta)),
    )


def _without_the_factor(i: vf.Cases) -> ar.Reals:
    one = 0 * i.score + ar.constant(1, like=i.score)
    return gate(one, i.tau) * i.score / 4 - i.score


loss_on_policy = vf.Claim(
    id="extension.loss-on-policy",
    source="ours: GRPO with PPO's clip, CE-GPPO, CISPO, DPPO, SAPO, VESPO, TOPR, DRO",
    title="On policy eight losses of the ratio have one coefficient, the advantage",
    scope="one tabular state, one token, ratio 1; and their slopes there",
    statement=vf.Statement(
        latex=r"Where old and present logits differ by a constant, the coefficients of PPO's clip, "
              r"CE-GPPO, CISPO, DPPO (total variation), SAPO, VESPO, TOPR and DRO are $A$, whatever "
              r"their options. At ratio 1 the weight of SAPO has the slope 1 in the ratio, that of "
              r"VESPO $k-\lambda$, the coefficient of DRO $-\beta$.",
        margin=_departures,
        relation="==",
        beyond=_slopes,
    ),
    instances=vf.bandit_instances(*OPTIONS, actions=(2, 4), correct=False, vectors=(SCORE,)),
    mutants=(
        vf.mutant("SAPO's gate without its factor 4", margin=_without_the_factor),
    ),
)

# ---------------------------------------------------------------- rewards 0 and 1

RIGHT = vf.Scalar(name="right", low=0.05, high=5.0, grid=(1,), range=vf.Range(low=0))
WRONG = vf.Scalar(name="wrong", low=0.05, high=5.0, grid=(1,), range=vf.Range(low=0))


@vf.definition
def by_reward(correct: ar.Mask, right: ar.Reals, wrong: ar.Reals) -> ar.Reals:
    """The advantage a of right answers, and -b of wrong ones."""
    return np.where(correct, ar.per_action(right), -ar.per_action(wrong))


def _along_one_line(i: vf.Cases, size: ar.Reals) -> ar.Reals:
    """The step and its rate, minus this times those of positives."""
    step = expected_step(i.logits, by_reward(i.correct, i.right, i.wrong))
    return np.concatenate([
        step - ar.per_action(size) * positives_only(i.logits, i.correct),
        ar.per_action(first_order(i.logits, step)
                      - size * rate_of_positives(i.logits, i.correct))], axis=-1)


loss_binary_rewards = vf.Claim(
    id="extension.loss-binary-rewards",
    source="ours: GRPO, RLOO, Dr. GRPO, OPO, QAE, W-REINFORCE, NSR, GPG, difficulty weights and pass@k",
    title="With rewards 0 and 1 estimators of advantages differ in speed and not in direction",
    scope="one tabular state, rewards 0 and 1, advantages that depend on the reward alone, on-policy, "
          "exact expectation",
    statement=vf.Statement(
        latex=r"Advantage $a$ on right answers and $-b$ on wrong ones: the expected step is $(a+b)$ "
              r"times that of positives alone, and so is the rate of entropy.",
        margin=lambda i: _along_one_line(i, i.right + i.wrong),
        relation="==",
        beyond=lambda i: (moves_entropy(
            i.logits, expected_step(i.logits, by_reward(i.correct, i.right, i.wrong)),
            (i.right + i.wrong) * rate_of_positives(i.logits, i.correct)),),
    ),
    instances=vf.bandit_instances(RIGHT, WRONG),
    mutants=(
        vf.mutant("a - b in place of a + b", margin=lambda i: _along_one_line(i, i.right - i.wrong)),
    ),
)
