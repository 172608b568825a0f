"""Fuzzing: extreme arguments for functions, damaged files for readers, and what must hold of both.

A room lists its functions and readers in a table of its own ``test_fuzz.py``; a line is a `Call` or a
`Reader`. Each line is tried on few cases by `make test`, on more by `make deep` and on 10,000 by
`make fuzz`. Cases are drawn from a fixed seed, so that what fails once fails again.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import inspect
import json
import math
import os
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

FEW = 30
MANY = int(os.environ.get("FUZZ_CASES", "500"))
SECONDS = 120
"""After this a case is taken to hang. None takes a second, on a machine that does nothing else."""

SIZES = pytest.mark.parametrize("cases", [
    pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.deep)])
"""For tests that fuzz: the number of cases."""


def fuzz(cases: int, strategy: SearchStrategy[Any], holds: Callable[[Any], object]) -> None:
    """Try ``holds``, which raises where something is wrong, on so many cases; the first are simple."""

    @settings(max_examples=cases, derandomize=True, database=None, deadline=None, print_blob=False,
              suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
              phases=(Phase.generate, Phase.shrink))
    @given(strategy)
    def tried(case: Any) -> None:
        with ends():
            holds(case)

    tried()


class HangError(AssertionError):
    """Raised where a case takes longer than `SECONDS`."""


@contextlib.contextmanager
def ends() -> Iterator[None]:
    """Raise HangError if the block does not end."""

    def hangs(*_: object) -> None:
        raise HangError(f"no answer after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def public(*modules: str) -> set[str]:
    """The functions and classes that modules define and do not begin with "_": "module.name"."""
    found = set()
    for module in map(importlib.import_module, modules):
        for name, value in vars(module).items():
            if (name[0] != "_" and getattr(value, "__module__", "") == module.__name__
                    and (inspect.isclass(value) or inspect.isfunction(value))):
                found.add(f"{module.__name__.partition('.')[2]}.{name}")
    return found


# ------------------------------------------------------------------ numbers and arrays

TINY, LARGE = 5e-324, 1.7976931348623157e308
NEAR = (0.0, 1.0, -0.0, -1.0, 0.5, 2.0, -3.0, 30.0, -60.0, 1.0000000000000002, 1e-16, 0.1)
FAR = (TINY, -TINY, 1e-308, 2.3e-308, 1e-160, 1e160, -1e160, 710.0, -745.2, 1e308, -1e308, LARGE, -LARGE,
       1e5, -1e5, 3e38, 7e4, 6e-8)
NOT_FINITE = (math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class Palette:
    """Where the numbers of an array come from: half of them are special, half lie in a range."""

    special: tuple[float, ...]
    low: float = -8.0
    high: float = 8.0

    def of(self, codes: np.ndarray) -> np.ndarray:
        """The number of each code below 2^16; 0 is the first special one."""
        between = self.low + (self.high - self.low) * (codes % 2**15) / (2**15 - 1)
        return np.where(codes < 2**15, np.take(self.special, codes % len(self.special)), between)


ordinary = Palette(NEAR)
"""Finite numbers of ordinary size."""
finite = Palette((*NEAR, *FAR))
"""Finite numbers of any size."""
numbers = Palette((*NEAR, *FAR, *NOT_FINITE))
"""Any floats."""
moderate = Palette((*NEAR, TINY, -TINY, 1e-160, 1e15, -1e15, 6e-8))
"""Numbers whose squares do not overflow, in single precision either."""
with_infinity = Palette((*NEAR, -math.inf))
"""Logits: an action may never be taken."""
log_probs = Palette((0.0, -1.0, -TINY, -1e-16, -745.2, -1e5), -30.0, 0.0)
"""Logarithms of probabilities."""
shares = Palette((0.0, 1.0, 0.5, TINY, 1 - 2**-53, 1e-300), 0.0, 1.0)
"""Numbers in [0, 1]."""
positive = Palette((1.0, 0.5, 2.0, 1e-3, 1e3, math.inf, TINY, 1e308), 0.05, 20.0)
"""Temperatures."""
booleans = Palette((0.0, 1.0), 0.0, 0.0)
FLOATS = (np.float64, np.float32, np.float16)
SHAPES = ((2,), (1,), (3,), (5,), (1, 2), (2, 3), (3, 1), (2, 2, 3))
ODD_SHAPES = ((), (0,), (2, 0), (0, 3), (4, 600))
LAYOUTS = ("plain", "read-only", "fortran", "strided", "reversed")
PERIOD = 8
"""Entries repeat after so many, or arrays would be slow to draw."""


def arrays(
    shape: Sequence[int], palette: Palette = numbers, *, dtypes: Sequence[Any] = FLOATS
) -> SearchStrategy[np.ndarray]:
    """Arrays of a shape: of several types, contiguous or not, read-only or not, with ties."""
    size = 2 * min(math.prod(shape), PERIOD) + 2

    def made(drawn: bytes) -> np.ndarray:
        codes = np.frombuffer(drawn[2:], dtype=np.uint16).astype(np.int64)
        array, dtype = np.resize(palette.of(codes), shape), np.dtype(dtypes[drawn[0] % len(dtypes)])
        if dtype.kind == "f":  # what would overflow is the largest number
            largest = float(np.finfo(dtype).max)
            array = np.where(np.isfinite(array), np.clip(array, -largest, largest), array)
        array = array.astype(dtype)
        layout = LAYOUTS[drawn[1] % len(LAYOUTS)] if array.ndim else LAYOUTS[drawn[1] % 2]
        if layout == "fortran":
            array = np.asfortranarray(array)
        elif layout == "strided":
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        elif layout == "reversed":
            array = array[::-1]
        elif layout == "read-only":
            array.flags.writeable = False
        return array

    return st.binary(min_size=size, max_size=size).map(made)


def scalars(palette: Palette) -> SearchStrategy[float]:
    """Numbers of a palette."""
    return st.integers(0, 2**16 - 1).map(lambda code: float(palette.of(np.asarray(code))))


def nowhere_nan(value: Any) -> bool:
    """Whether no number in a result, however it is built, is NaN."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(nowhere_nan(getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return all(map(nowhere_nan, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(nowhere_nan, value))
    if isinstance(value, (float, np.floating, np.ndarray)):
        array = np.asarray(value)
        return not (array.dtype.kind == "f" and np.isnan(array).any())
    return True


# ------------------------------------------------------------------ functions


def nothing(result: Any, **arguments: Any) -> None:
    """Check nothing beside what holds of every function."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A function, its arguments, and what holds of its answers."""

    function: Callable[..., Any]
    arguments: SearchStrategy[dict[str, Any]]
    check: Callable[..., None] = nothing
    """Takes the answer and the arguments; raises AssertionError where the answer is wrong."""
    refuses: Callable[..., bool] | None = None
    """Takes the arguments: whether exactly these are refused. None: any may be refused."""
    errors: tuple[type[Exception], ...] = (ValueError,)
    """What the docstring says is raised."""
    nan: bool = False
    """Whether the docstring says that an answer may be NaN."""


def holds_of(call: Call, arguments: dict[str, Any]) -> None:
    """The documented error in one line, or a right answer; arguments are not changed."""
    before = copy.deepcopy(arguments)
    refused = call.refuses is not None and call.refuses(**arguments)
    with np.errstate(all="ignore"):
        try:
            result = call.function(**arguments)
        except call.errors as error:
            says_one_line(error)
            assert call.refuses is None or refused, f"refused: {error}"
            return
        assert not refused, f"a wrong argument is taken: {result}"
        for name, value in before.items():
            assert same(value, arguments[name]), f"argument {name} was changed"
        assert call.nan or nowhere_nan(result), f"NaN in {result}"
        call.check(result, **arguments)


def says_one_line(error: BaseException) -> None:
    """An error has words, in one line."""
    text = str(error)
    assert text.strip(), repr(error)
    assert "\n" not in text, text


def same(first: Any, second: Any) -> bool:
    """Whether two arguments are equal to the bit, NaN included."""
    if isinstance(first, np.ndarray):
        return first.tobytes() == second.tobytes() and first.shape == second.shape
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return all(same(getattr(first, f.name), getattr(second, f.name))
                   for f in dataclasses.fields(first))
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    return first is second or first == second or first != first or callable(first)
