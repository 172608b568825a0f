"""Guards tests/daily.py and tests/shape_checks.py: no case is lost, and each test has calls checked."""

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from entropy_theory import policy
from tests import shape_checks
from tests.daily import one_in


def test_all_cases_stay_and_only_the_daily_ones_are_unmarked():
    """A case that is dropped, or one that is daily in every run of make deep alone."""
    found = one_in(3, [*range(4), (4, 5)])
    assert found[::3] == [0, 3]
    deep = [case for case in found if case not in (0, 3)]
    assert [case.values for case in deep] == [(1,), (2,), (4, 5)]
    assert all(mark.name == "deep" for case in deep for mark in case.marks)
    assert all(case.marks for case in deep)


@pytest.mark.parametrize("again", [False, True])
def test_the_shapes_of_each_tests_first_calls_are_checked(again):
    """A number of calls that is not given anew to each test."""
    with pytest.raises(TypeCheckError):
        policy.entropy("no array")
    for _ in range(shape_checks.CALLS):
        policy.entropy(np.zeros(2))
    assert shape_checks.config.left < 0
