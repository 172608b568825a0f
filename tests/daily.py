"""Which of many like cases run in `make test`; `make deep` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """Mark all cases but the first of every ``number`` as deep."""
    return [case if place % number == 0 else pytest.param(case, marks=pytest.mark.deep)
            for place, case in enumerate(cases)]
