"""AEPO's claims: their verdicts, and counterexamples known from elsewhere."""

from __future__ import annotations

from fractions import Fraction

import pytest

from entropy_theory.claims import all_claims
from entropy_theory.claims.aepo import corollary_4_4 as corollary
from entropy_theory.claims.aepo import theorem_4_3 as theorem
from entropy_theory.claims.aepo.tempered_reinforce import rate, scaled_slope
from entropy_theory.verification import Statement
from entropy_theory.verification.certify import check_instance
from entropy_theory.verification.claim import without

CLAIMS = all_claims()


def statement(margin, **options):
    return Statement(latex="", margin=margin, **options)


ABSOLUTE = statement(lambda i: rate(i.logits, i.correct, i.temperature))
AT_ONE = statement(lambda i: rate(i.logits, i.correct))
FALLS = theorem.theorem_4_3b.statement.conditions
SIGN_WITHOUT_HYPOTHESIS = without(theorem.theorem_4_3b.statement, FALLS[0].latex)
LOW_EVERYWHERE = corollary.corollary_4_4_low.statement
LOW_WITHOUT_HYPOTHESIS = corollary.corollary_4_4_low.mutants[0].statement


@pytest.mark.parametrize(
    ("refuted", "weights", "correct", "temperature"),
    [
        # F(1) < 0, and even an enormous temperature leaves F negative: one likeliest right answer.
        (ABSOLUTE, (1, 2), (2,), 10**6),
        # F(1) < 0 and T = 2 still lowers entropy ...
        (ABSOLUTE, (1, 1, 3), (1, 3), 2),
        # A low temperature lowers entropy less than T = 1 although F(1) < 0.
        (LOW_EVERYWHERE, (4, 7, 8), (2,), Fraction(1, 20)),
        # F(1) > 0 and a higher temperature raises entropy less.
        (corollary.corollary_4_4_high.statement, (1, 3, 4), (2,), 2),
        (SIGN_WITHOUT_HYPOTHESIS, (1, 4, 5), (2,), 1),
        # A low temperature raises entropy more than T = 1.
        (LOW_WITHOUT_HYPOTHESIS, (1, 4, 5), (2,), Fraction(4, 5)),
    ],
)
def test_known_counterexamples_are_certified(refuted, weights, correct, temperature):
    """Found by other code, re-checked here in exact arithmetic."""
    instance = {"weights": list(weights), "temperature": temperature,
                "correct": [a in correct for a in range(1, len(weights) + 1)]}
    assert check_instance(refuted, instance).status == "violated"


@pytest.mark.parametrize(
    ("true", "weights", "correct", "temperature"),
    [
        # ... but T = 3 raises it.
        (ABSOLUTE, (1, 1, 3), (1, 3), 3),
        # With the less likely answer right, every temperature raises entropy, low ones included.
        (ABSOLUTE, (2, 3), (1,), Fraction(1, 10)),
        (AT_ONE, (1, 3, 4), (2,), 1),
        (statement(lambda i: scaled_slope(i.logits, i.correct)), (1, 3, 4), (2,), 1),
    ],
)
def test_known_signs_are_certified(true, weights, correct, temperature):
    instance = {"weights": list(weights), "temperature": temperature,
                "correct": [a in correct for a in range(1, len(weights) + 1)]}
    assert check_instance(true, instance).status == "holds"


def test_finite_steps_can_have_the_other_sign():
    """F(1) = +0.0205 but the exact change at eta = 1 is -0.0016: '~' is only a first order."""
    from entropy_theory.claims.aepo.tempered_reinforce import unit_step
    from entropy_theory.verification import arithmetic as ar

    exact = statement(lambda i: ar.entropy_change(i.logits, unit_step(i.logits, i.correct)))
    instance = {"weights": [1, 3, 4], "correct": [False, True, False]}
    assert check_instance(AT_ONE, instance).status == "holds"
    certificate = check_instance(exact, instance)
    assert certificate.status == "violated"
    assert certificate.interval.startswith("[-0.0015")


def test_every_claim_has_a_file_named_after_it():
    """A newcomer finds Theorem 4.3 by file name."""
    from pathlib import Path

    import entropy_theory.claims.aepo as folder

    files = {path.stem for path in Path(folder.__path__[0]).glob("*.py")}
    for claim_id in CLAIMS:
        source, name = claim_id.split(".", 1)
        if source != "aepo":
            continue
        stem = name.removesuffix("-high").removesuffix("-low").rstrip("ab")
        assert stem.replace("-", "_").replace(".", "_") in files, claim_id
