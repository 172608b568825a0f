"""Which of many like cases run in `make test`; `make deep` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """Mark all but the first of every ``number`` cases as deep; a tuple is one of several arguments."""
    return [case if place % number == 0
            else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep)
            for place, case in enumerate(cases)]
