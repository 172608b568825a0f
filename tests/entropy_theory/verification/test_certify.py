"""Signs by balls: three values, precision doubled on demand, global precision restored."""

from __future__ import annotations

import pytest
from flint import ctx

from entropy_theory.verification import certify
from tests.entropy_theory.verification import planted


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
