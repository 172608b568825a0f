"""Signs by balls: three values, precision doubled on demand, global precision restored."""

from __future__ import annotations

import pytest
from flint import arb, ctx

from entropy_theory.verification import certify
from tests.entropy_theory.verification import planted


def test_an_exact_zero_stays_undecided():
    found, interval, bits = certify.decided_sign(lambda: arb(2).sqrt() * arb(2).sqrt() - 2,
                                                 ceiling=512)
    assert found is None
    assert bits == 512
    assert "+/-" in interval


def test_a_tiny_number_is_decided_by_more_bits():
    """1 - tanh(100) is 3e-87: invisible at 64 bits."""
    found, _, bits = certify.decided_sign(lambda: 1 - arb(100).tanh())
    assert found == 1
    assert bits > 256


def test_precision_is_restored_even_after_an_error():
    before = ctx.prec
    with pytest.raises(RuntimeError), certify.precision(777):
        assert ctx.prec == 777
        raise RuntimeError
    assert ctx.prec == before


@pytest.mark.parametrize(
    ("weights", "status"),
    [((1, 1, 2), "violated"), ((1, 2), "holds"), ((1, 1, 1), "outside")],
)
def test_status_at_an_instance(weights, status):
    certificate = certify.check_instance(planted.ENTROPY_BELOW_ONE, {"weights": list(weights)})
    assert certificate.status == status


def test_equality_is_not_a_violation_of_a_weak_inequality():
    certificate = certify.check_instance(planted.AT_MOST_LOG_N, {"weights": [3, 3, 3]},
                                         ceiling=256)
    assert certificate.status in ("holds", "undecided")


def test_a_false_identity_is_refuted_although_floats_hardly_see_it():
    instance = {"weights": [1, 2, 3]}
    assert certify.check_instance(planted.NEARLY_AN_IDENTITY, instance).status == "violated"
    assert certify.check_instance(planted.COVARIANCES_SUM_TO_ZERO, instance).status == "holds"


@pytest.mark.parametrize(
    ("shift", "outcome"), [(1.01, "pass"), (0.9, "fail"), (1.0, "undecided")]
)
def test_branch_and_bound(shift, outcome):
    """x^2 - x + shift^2/4 on [0, 1] is positive, negative inside, or touches zero at x = 1/2."""
    # A third, not a half, keeps the touching point off every bisection midpoint.
    step = certify.positive_on_box(
        "parabola", "", lambda x: x * x - 2 * x / 3 + arb(shift) * arb(shift) / 9, [(0.0, 1.0)],
        most_boxes=3000,
    )
    assert step.check(5.0)[0] == outcome
