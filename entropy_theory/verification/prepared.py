"""Imported last where workers are forked from: does once what each of them would do again.

Hypothesis reads the constants of all modules, and looks for garbage, when it first runs in a process.
No worker looks through what was imported, which is never garbage.
"""

from __future__ import annotations

import gc

from hypothesis import given, settings, strategies


@settings(max_examples=200, database=None, derandomize=True)
@given(strategies.floats())
def _prepare(number: float) -> None:
    """Draw as many numbers as make it sure that constants are among them."""


_prepare()
gc.freeze()
