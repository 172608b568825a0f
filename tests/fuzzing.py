"""Fuzzing: extreme arguments for functions, damaged files for readers, and what must hold of both.

A room lists its functions and readers in a table of its own ``test_fuzz.py``; a line is a `Call` or a
`Reader`. `pytest -m deep` tries each line on 200 cases and `make fuzz` on 10,000; `make test` reads the
documents as they stand. Cases are drawn from a fixed seed, so that what fails once fails again.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import math
import os
import random
import shutil
import signal
import sys
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

from entropy_theory.support import user_errors

CASES = int(os.environ.get("FUZZ_CASES", "200"))
SECONDS = 120
"""After this a case is taken to hang. None takes a second, on a machine that does nothing else."""


def fuzz(strategy: SearchStrategy[Any], holds: Callable[[Any], object]) -> None:
    """Try ``holds``, which raises where something is wrong, on `CASES`; the first are simple."""

    @settings(max_examples=CASES, derandomize=True, database=None, deadline=None, print_blob=False,
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
            if call.refuses is not None and not refused:
                raise AssertionError(f"refused: {error}") from error
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


# ------------------------------------------------------------------ readers

DEEP = "@deep@"
"""Stands for lists within lists, which no recursion gets to the end of."""
HUGE = "@huge@"
"""Stands for a whole number of thousands of digits."""
STRANGE = (None, True, False, 0, 1, -1, 2**63, 10**30, 0.5, -0.0, TINY, 1e308, *NOT_FINITE, "", " ",
           "text", "nan", "1e999", "\0", "\u2028", "\ud800", "\u202e🦊", "a" * 5000, "../..",
           "<script>alert(1)</script>", [], {}, [[]], [1], [None], {"": None}, {"a": {"b": []}}, DEEP,
           HUGE)
WITHIN = ("value", "value", "value", "drop", "rename", "add")
"""What may be done to a document's values; then it is written as text again."""
BYTES = ("cut", "cut", "byte", "not utf-8", "nul", "mark", "crlf", "twice", "empty", "blank", "noise",
         "swap", "open", "gzip")
"""What may be done to its bytes."""
PLACES = ("missing", "folder", "loop")
"""What may stand where the file should be."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A function of a path, a document that it reads, and what holds of what it returns."""

    read: Callable[[Path], Any]
    name: str
    """The name of the file, with the folders that lie around it."""
    document: Any
    """Plain data, or bytes."""
    write: Callable[[Any], bytes] = bytes
    """Writes the document."""
    around: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of other files, by name."""
    check: Callable[[Any], object] = lambda result: None
    errors: tuple[type[Exception], ...] = (ValueError,)
    names_file: bool = True
    """Whether an error names the file, or a folder around it."""
    needs: str = ""
    """A module without which the line is skipped."""


@st.composite
def damages(draw: DrawFn) -> tuple[tuple[str, int], ...]:
    """What is done to a document: up to three things, each with the number that says where and how."""
    kinds = st.sampled_from((*WITHIN, *WITHIN, *BYTES, *PLACES))
    return tuple(draw(st.lists(st.tuples(kinds, st.integers(0, 2**32)), min_size=1, max_size=3)))


def holds_of_reader(
    reader: Reader, damage: Sequence[tuple[str, int]], folder: Path, *, whole: bool = False
) -> None:
    """The documented error, which names the file in one line, or what `Reader.check` takes.

    Args:
        whole: whether no error is expected.
    """
    shutil.rmtree(folder, ignore_errors=True)
    path = folder / reader.name
    for name, content in {**reader.around, reader.name: damaged(reader, damage)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for kind, _ in damage:
        if kind in PLACES and path.is_file():
            path.unlink()
            if kind == "folder":
                path.mkdir()
            elif kind == "loop":
                path.symlink_to(path.name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = reader.read(path)
        except reader.errors as error:
            says_one_line(error)
            named = not reader.names_file or reader.name.split("/")[0] in str(error)
            if whole or not named:
                raise AssertionError(f"refused{'' if named else ' without its name'}: {error}") from error
            return
        reader.check(result)


def reader_tests(readers: Mapping[str, Reader]) -> tuple[Callable[..., None], ...]:
    """Return the tests of a table of readers, by name.

    Damaged files are refused or read, and the documents of the table are read as they stand: a document
    that is not would prove nothing.
    """

    def skip_without(module: str) -> None:
        if module:
            pytest.importorskip(module)

    @pytest.mark.deep
    @pytest.mark.parametrize("name", readers)
    def test_damaged(name: str, tmp_path: Path) -> None:
        skip_without(readers[name].needs)
        place = tmp_path / "files"
        fuzz(damages(), lambda damage: holds_of_reader(readers[name], damage, place))

    @pytest.mark.parametrize("name", readers)
    def test_whole(name: str, tmp_path: Path) -> None:
        skip_without(readers[name].needs)
        holds_of_reader(readers[name], (), tmp_path, whole=True)

    return test_damaged, test_whole


def damaged(reader: Reader, damage: Sequence[tuple[str, int]]) -> bytes:
    """The bytes of the document with all damage but that to its place."""
    document = copy.deepcopy(reader.document)
    for kind, number in damage:
        if kind in WITHIN and not isinstance(document, bytes):
            document = _changed(document, kind, random.Random(number))
    content = reader.write(document)
    for kind, number in damage:
        if kind in BYTES:
            content = _broken(content, kind, random.Random(number))
    return content


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from _places(value[key], (*path, key))


def _changed(document: Any, kind: str, chance: random.Random) -> Any:
    places = list(_places(document))
    strange = copy.deepcopy(chance.choice(STRANGE))
    if not places or chance.random() < 0.03:
        return strange
    *way, last = chance.choice(places)
    inner = document
    for key in way:
        inner = inner[key]
    if kind == "value":
        inner[last] = strange
    elif kind == "drop":
        del inner[last]
    elif isinstance(inner, dict):
        content = inner.pop(last) if kind == "rename" else strange
        names = (f"{last}x", "", "name", "\n", "__class__", "a.b", str(last).upper())
        inner[chance.choice(names)] = content
    else:
        inner.append(strange)
    return document


def _broken(content: bytes, kind: str, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    if kind == "swap":
        lines = content.split(b"\n")
        chance.shuffle(lines)
        return b"\n".join(lines)
    return {
        "cut": content[:place],
        "byte": content[:place] + bytes([chance.randrange(256)]) + content[place + 1:],
        "not utf-8": content[:place] + b"\xff\xfe\xc3" + content[place:],
        "nul": content[:place] + b"\0" + content[place:],
        "mark": b"\xef\xbb\xbf" + content,
        "crlf": content.replace(b"\n", b"\r\n"),
        "twice": content + content,
        "empty": b"",
        "blank": b" \n\t\r\n",
        "noise": bytes(chance.randrange(256) for _ in range(64)),
        "open": content[:place] + chance.choice((b"[", b"{", b'"', b"\n", b",", b"=", b"'", b"\x0b",
                                                  "\u2028".encode())) + content[place:],
        "gzip": b"\x1f\x8b\x08\x00" + content,
    }[kind]


def as_json(document: Any) -> bytes:
    """JSON, with what stands for things that only a text can hold."""
    return _stands_for(json.dumps(document, ensure_ascii=False), '"{}"').encode("utf-8", "surrogatepass")


def as_escaped_json(document: Any) -> bytes:
    """The same in ASCII."""
    return _stands_for(json.dumps(document), '"{}"').encode()


def as_json_lines(document: Any) -> bytes:
    """A line for each entry."""
    lines = document if isinstance(document, list) else [document]
    return b"".join(as_escaped_json(line) + b"\n" for line in lines)


def as_toml(document: Any) -> bytes:
    """TOML: an assignment for each value, a header for each table at the top."""
    if not isinstance(document, dict):
        return as_json(document)
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {_toml(value)}" for key, value in plain.items()]
    for key, table in document.items():
        if key not in plain:
            lines += [f"[{_key(key)}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    return _stands_for("\n".join(lines) + "\n", '"{}"').encode("utf-8", "surrogatepass")


def _key(key: str) -> str:
    return json.dumps(str(key))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return '"none"' if value is None else json.dumps(value)


def as_csv(document: Any) -> bytes:
    """A comma-separated table."""
    lines = document if isinstance(document, list) else [document]
    cells = [line if isinstance(line, list) else [line] for line in lines]
    text = "".join(",".join(str(cell) for cell in line) + "\n" for line in cells)
    return _stands_for(text, "{}").encode("utf-8", "surrogatepass")


def _stands_for(text: str, quoted: str) -> str:
    return text.replace(quoted.format(DEEP), "[" * 100_000).replace(quoted.format(HUGE), "9" * 5000)


def command_status(main: Callable[[], Any], *arguments: str) -> tuple[int, str]:
    """The exit status of a command line in this process, and what it says on standard error."""
    said, sys_argv, sys_path = io.StringIO(), sys.argv, [*sys.path]
    sys.argv = ["policy-entropy", *arguments]
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            user_errors.run_command(main)
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    finally:
        sys.argv, sys.path = sys_argv, sys_path
    raise AssertionError("a command ends with an exit status")


def ends_well(found: tuple[int, str]) -> None:
    """A command did what it should, or said in one line what is wrong."""
    status, said = found
    assert status in (0, 2), (status, said)
    if status:
        (line,) = said.splitlines()
        assert line.startswith("error: "), line
