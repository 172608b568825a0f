"""Claims whose truth is known, for testing the checkers: most of them false on purpose."""

from __future__ import annotations

import dataclasses

import numpy as np

from entropy_theory.verification import Condition, Reading, Statement, bandit_instances
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.check import Profile
from entropy_theory.verification.search import Effort

POLICIES = bandit_instances(actions=(2, 4), correct=False)
READING = Reading("literal", "as it is planted", "here")

TINY = Profile(
    search=Effort(largest_total=8, random_cases=3000, ascents=2, seconds=5.0),
    proved_search=Effort(largest_total=8, random_cases=1000, ascents=1, seconds=1.0),
    mutant_search=Effort(largest_total=8, random_cases=2000, ascents=1, seconds=3.0),
    examples=40,
    mutant_examples=20,
    step_seconds=10.0,
    check_seconds=20.0,
)

# True: entropy is at most log n; equality at the uniform policy.
AT_MOST_LOG_N = Statement(
    latex=r"$H(\pi) \le \log n$",
    margin=lambda i: ar.log_of(i.logits.shape[-1], like=i.logits) - ar.entropy(i.logits),
)

# The same, but computed instance by instance, which is no formula.
COMPUTED_AT_MOST_LOG_N = dataclasses.replace(AT_MOST_LOG_N, margin=lambda i: np.array(
    [ar.log_of(len(z), like=z) - ar.entropy(z) for z in i.logits]))

# False: the smallest violation in integer weights is (1, 1) (probability exactly 1/2 holds the
# strict inequality back), and every policy with a largest probability up to 1/2 violates it.
TOP_ABOVE_HALF = Statement(
    latex=r"$\max_a \pi_a > 1/2$",
    margin=lambda i: ar.largest(ar.softmax(i.logits)) - ar.constant(1, like=i.logits) / 2,
    relation=">",
)

# False, and only for three actions or more: smallest violation (1, 1, 2), H = 1.0397.
ENTROPY_BELOW_ONE = Statement(
    latex=r"$H(\pi) \le 1$ where some action has probability above 0.45",
    margin=lambda i: 1 - ar.entropy(i.logits),
    conditions=(
        Condition(latex="the largest probability is above 0.45",
                  value=lambda i: ar.largest(ar.softmax(i.logits)) - 0.45),
    ),
)

# True identity: c sums to zero.
COVARIANCES_SUM_TO_ZERO = Statement(
    latex=r"$\sum_a \pi_a(z_a - \bar z) = 0$",
    margin=lambda i: ar.total(ar.softmax(i.logits) * ar.centered(ar.softmax(i.logits), i.logits)),
    relation="==",
)

# False identity, off by 1e-8: ten times the float filter, far above a ball's radius.
NEARLY_AN_IDENTITY = Statement(
    latex=r"$\sum_a \pi_a = 1 + 10^{-8}$",
    margin=lambda i: ar.total(ar.softmax(i.logits)) - 1 - 1e-8,
    relation="==",
)
