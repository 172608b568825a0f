"""Whether tests notice a bug: they are collected once, and each bug is tried in a fork of that process.

First the tests run without a bug, under coverage.py, which tells the lines that each of them reaches.
A bug is then tried with the tests that reach its line, the quickest first, until one fails. A bug within
a function is put in by exchanging that function's code in the fork, where everything is imported
already. One at the level of a class or a module needs a fresh import, in a fork that has imported nothing
of the package; that takes some seconds, so these come last.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.machinery
import inspect
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest
from hypothesis import Phase, settings

from tests.mutation.mutants import Mutant, Source

SPARE_MEMORY = 3 * 2**30
"""Bytes that a fork may take beyond what it began with: a bug may ask for an array without end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Files, and the tests that judge bugs in them (a table of ``judges.toml``)."""

    name: str
    root: Path
    files: tuple[str, ...]
    tests: tuple[str, ...]
    preload: tuple[str, ...]
    """Modules of others that every fork needs, imported once."""
    seconds: float
    """Measured time of the tests that a bug is tried with, at most; the quickest come first."""
    declarations: tuple[str, ...] = ()
    """Files of tests of what is declared at import, as defaults are, whatever lines they reach."""

    @property
    def folder(self) -> Path:
        """Where measurements and results are kept."""
        return self.root / "build" / "mutation" / self.name

    def digest(self, files: Sequence[str] = ()) -> str:
        """A hash of files' contents; of all tests where none are named."""
        found = hashlib.sha256()
        for file in files or self.tests:
            found.update((self.root / file).read_bytes())
        return found.hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """What the tests reach where there is no bug."""

    seconds: dict[str, float]
    """Processor time of each test, by its node id."""
    lines: dict[str, dict[str, list[str]]]
    """From a file and a line, as text, to the tests that execute it."""

    def judges(self, mutant: Mutant, group: Group) -> list[str]:
        """The tests to try a bug of the group with, in order."""
        lines = self.lines.get(mutant.file, {})
        reaching = lines.get(str(mutant.line), []) if mutant.in_body else []
        # What runs at import is reached by no test in particular, but matters to those of the file; and
        # of a statement over several lines only the first may count as executed.
        reaching = reaching or sorted({test for tests in lines.values() for test in tests})
        order = sorted(reaching, key=lambda test: (self.seconds[test], test))
        if not mutant.in_body:
            first = sorted(t for t in self.seconds if t.split("::")[0] in group.declarations)
            order = first + [test for test in order if test not in first]
        chosen, total = [], 0.0
        for test in order:
            total += self.seconds[test]
            if total > group.seconds and chosen:
                break
            chosen.append(test)
        return chosen


def reach(group: Group) -> Reach:
    """Measure each file of tests, or read what was measured of it and of the mutated files as they are.

    Raises:
        RuntimeError: A test fails without any bug, or none reaches a file.
    """
    folder = group.folder / "reach"
    folder.mkdir(parents=True, exist_ok=True)
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, list[str]]] = {file: {} for file in group.files}
    for tests in group.tests:
        digest = group.digest([tests, *group.files])
        kept = folder / f"{tests.removesuffix('.py').replace('/', '-')}.json"
        if not kept.exists() or json.loads(kept.read_text())["digest"] != digest:
            answer = _in_fork(lambda tell, tests=tests: _measure(group, tests, tell))
            if "failed" in answer or "seconds" not in answer:
                raise RuntimeError(f"without any bug: {answer.get('failed', answer)}")
            kept.write_text(json.dumps({"digest": digest, **answer}))
        measured = json.loads(kept.read_text())
        seconds.update(measured["seconds"])
        for file, found in measured["lines"].items():
            for line, reaching in found.items():
                lines[file].setdefault(line, []).extend(reaching)
    if never := sorted(file for file, found in lines.items() if not found):
        raise RuntimeError(f"judges.toml, {group.name}: no test reaches {', '.join(never)}")
    return Reach(seconds=seconds, lines=lines)


def judge(
    group: Group, measured: Reach, mutants: Sequence[Mutant], tell: Callable[[dict[str, Any]], None]
) -> None:
    """Try each bug and tell of each, as soon as it is known: ``key``, ``outcome`` (killed, survived,
    unreached), ``by`` (the test that failed; None where the import did)."""
    sources = {file: Source(group.root, file) for file in {mutant.file for mutant in mutants}}
    again: list[Mutant] = [mutant for mutant in mutants if not mutant.in_body]

    def exchanged(tell_parent: Callable[[dict[str, Any]], None]) -> None:
        plugin = _Exchanging(group, measured, sources, [m for m in mutants if m.in_body], tell_parent)
        pytest.main(_arguments(group.tests), plugins=[plugin])

    def received(answer: dict[str, Any]) -> None:
        if answer["outcome"] == "import":
            again.append(next(mutant for mutant in mutants if mutant.key == answer["key"]))
        else:
            tell(answer)

    if len(again) < len(mutants):
        _in_fork(exchanged, received)
    if again:
        _check_imports(group, measured, again[0])
    for mutant in again:
        judges = measured.judges(mutant, group)
        text = sources[mutant.file].mutated(mutant)
        answer = {"outcome": "survived"} if not judges else _in_fork(
            lambda tell, mutant=mutant, text=text, judges=judges: _imported(
                group, measured, mutant, text, judges, tell))
        tell({"key": mutant.key, **_verdict(answer)})


def _verdict(answer: dict[str, Any]) -> dict[str, Any]:
    if "signal" in answer and "outcome" not in answer:
        return {"outcome": "killed", "by": None, "signal": answer["signal"]}
    return {"by": None, **{name: answer[name] for name in ("outcome", "by") if name in answer}}


def _arguments(tests: Sequence[str]) -> list[str]:
    # pytest would rewrite this package, too, since it holds a plugin, and load it in a way of its own.
    return [*tests, "--assert=plain", "-o", "addopts=", "-q", "-p", "no:entropy_theory",
            "-p", "no:cacheprovider", "-W", "ignore:Module already imported", "-m", "not deep",
            "--capture=no", "--tb=short", "--no-header", "--no-summary"]


def _in_fork(
    work: Callable[[Callable[[dict[str, Any]], None]], None],
    receive: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Do the work in a fork that tells by JSON lines; what it told, in one dictionary, or passed on.

    A fork that ends by a signal adds ``signal``.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            quiet = os.open(os.devnull, os.O_RDWR)
            os.dup2(quiet, 1)
            if not os.environ.get("MUTATION_TRACEBACK"):
                os.dup2(quiet, 2)

            def tell(answer: dict[str, Any]) -> None:
                os.write(writing, (json.dumps(answer) + "\n").encode())

            try:
                work(tell)
                status = 0
            except BaseException as error:  # the parent must hear of it, whatever it is
                tell({"failed": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(status)
    os.close(writing)
    told: dict[str, Any] = {}
    with os.fdopen(reading) as lines:
        for line in lines:
            answer = json.loads(line)
            if receive is None or "failed" in answer:
                told.update(answer)
            else:
                receive(answer)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        told["signal"] = signal.Signals(os.WTERMSIG(status)).name
    if receive is not None and (told or status):
        raise RuntimeError(f"the process that tries bugs ended: {told or status}")
    return told


# ---- without a bug

class _Measuring:
    """Notes which test runs, for coverage.py, how long it takes, and whether one fails."""

    def __init__(self, coverage_: coverage.Coverage) -> None:
        self.coverage, self.seconds, self.failed = coverage_, {}, []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid} fails: {report.longreprtext[-2000:]}")


def _measure(group: Group, tests: str, tell: Callable[[dict[str, Any]], None]) -> None:
    _seeded()
    measuring = coverage.Coverage(data_file=None, config_file=False,
                                  include=[str(group.root / file) for file in group.files])
    measuring.start()
    plugin = _Measuring(measuring)
    status = pytest.main(_arguments([tests]), plugins=[plugin])
    measuring.stop()
    if plugin.failed or status:
        tell({"failed": "; ".join(plugin.failed) or f"{tests}: pytest ended with {status!r}"})
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file of tests may reach nothing
        data = measuring.get_data()
    tell({"seconds": plugin.seconds, "lines": {
        file: {str(line): sorted(filter(None, reaching))
               for line, reaching in data.contexts_by_lineno(str(group.root / file)).items()}
        for file in group.files}})


def _seeded() -> None:
    """Hypothesis draws the same instances for each bug, and looks for no smaller ones."""
    settings.register_profile("mutation", derandomize=True, database=None, deadline=None,
                              phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutation")


# ---- with a bug

class _Exchanging:
    """Tries each bug in a fork of the process that collected the tests."""

    def __init__(self, group: Group, measured: Reach, sources: dict[str, Source],
                 mutants: Sequence[Mutant], tell: Callable[[dict[str, Any]], None]) -> None:
        self.group, self.measured, self.sources = group, measured, sources
        self.mutants, self.tell = mutants, tell
        _seeded()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # frozen objects would not be found
        paths = {str(self.group.root / file) for file in self.sources}
        live: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if type(found) is FunctionType and found.__code__.co_filename in paths:
                live[_place(found.__code__)].append(found)
        gc.collect()
        gc.freeze()
        for mutant in self.mutants:
            judges = [items[test] for test in self.measured.judges(mutant, self.group)]
            answer = {"outcome": "survived"} if not judges else _in_fork(
                lambda tell, mutant=mutant, judges=judges: self._try(mutant, judges, live, tell))
            self.tell({"key": mutant.key, **_verdict(answer)})
        return True

    def _try(self, mutant: Mutant, judges: list[pytest.Item],
             live: dict[tuple[str, str, int], list[FunctionType]],
             tell: Callable[[dict[str, Any]], None]) -> None:
        source = self.sources[mutant.file]
        text = source.mutated(mutant)
        try:
            exchanged = _exchange(source.text, text, str(self.group.root / mutant.file), live)
        except (ValueError, SyntaxError):  # another number of variables, or no Python
            exchanged = False
        if not exchanged:
            tell({"outcome": "import"})
            return
        judges[0].session.config.pluginmanager.register(_Failing(self.measured, tell))
        for item, following in zip(judges, [*judges[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        tell({"outcome": "survived"})


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _exchange(before: str, after: str, path: str,
              live: dict[tuple[str, str, int], list[FunctionType]]) -> bool:
    """Give every live function that the bug changes its new code; whether there was one."""
    exchanged = False
    pairs = zip(_codes(compile(before, path, "exec", dont_inherit=True)),
                _codes(compile(after, path, "exec", dont_inherit=True)), strict=True)
    for old, new in pairs:
        if old != new and old.co_flags & inspect.CO_OPTIMIZED:
            for function in live[_place(old)]:
                function.__code__ = new
                exchanged = True
    return exchanged


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Failing:
    """Ends the process at the first failure, and where a test takes far longer than without a bug."""

    def __init__(self, measured: Reach, tell: Callable[[dict[str, Any]], None]) -> None:
        self.measured, self.tell = measured, tell
        with open("/proc/self/statm") as status:
            taken = int(status.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + SPARE_MEMORY, taken + SPARE_MEMORY))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        # Processor time: others may be at work on the machine. The signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, 3 + 10 * self.measured.seconds[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell({"outcome": "killed", "by": report.nodeid})
            os._exit(0)


class _Chosen:
    """Runs the tests that judge a bug, in their order."""

    def __init__(self, judges: Sequence[str]) -> None:
        self.judges = judges

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.judges]


def _imported(group: Group, measured: Reach, mutant: Mutant, text: str, judges: Sequence[str],
              tell: Callable[[dict[str, Any]], None]) -> None:
    _seeded()
    path = str(group.root / mutant.file)
    get_code = importlib.machinery.SourceFileLoader.get_code

    def with_bug(loader: Any, fullname: str) -> CodeType | None:
        if loader.path != path:
            return get_code(loader, fullname)
        return compile(text, path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = with_bug  # type: ignore[method-assign]
    tests = list(dict.fromkeys(test.split("::")[0] for test in judges))
    status = pytest.main(_arguments(tests), plugins=[_Failing(measured, tell), _Chosen(judges)])
    tell({"outcome": "killed" if status else "survived"})


def _check_imports(group: Group, measured: Reach, mutant: Mutant) -> None:
    """Raise RuntimeError where a file that cannot be imported is: then it is read from elsewhere."""
    judges = measured.judges(mutant, group)[:1]
    answer = _in_fork(lambda tell: _imported(
        group, measured, mutant, "raise ImportError('a bug')", judges, tell))
    if answer.get("outcome") != "killed":
        raise RuntimeError(f"{mutant.file} is imported, but not from what bugs are put into: {answer}")


def preload(group: Group) -> None:
    """Import what others wrote and every fork needs; nothing of this package.

    Raises:
        RuntimeError: Something of the package is imported already.
    """
    for name in group.preload:
        importlib.import_module(name)
    early = sorted(name for name in sys.modules if name.split(".")[0] in {
        Path(file).parts[0] for file in group.files})
    if early:
        raise RuntimeError(f"imported before its bugs: {early}; take it from preload")
