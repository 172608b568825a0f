"""README and docs run as printed: code and commands, in order, each page in a folder with tests/ alone.

``python`` and ``console`` blocks are executed. ``bash`` blocks hold what needs another machine, minutes
or an installation: each line is read by the parser of the command that it starts, and names that it
gives must exist.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.diagnosis import __main__ as benchmark
from entropy_theory import __main__ as entropy_theory_commands
from entropy_theory.support import command_line
from entropy_theory.update_rules import rule_options
from llm_bridge import __main__ as llm_bridge_commands
from llm_bridge.commands.train_config import TrainConfig
from llm_bridge.recipes import __main__ as recipes_commands
from paper_figures import __main__ as paper_figures_commands
from policy_entropy import __main__ as console
from policy_entropy.__main__ import OPTIONS
from simulations import __main__ as simulations_commands
from tests.warm import Warm

ROOT = Path(__file__).parents[2]
LONG = {"trl-run", "read_an_audit", "hold_an_entropy"}
"""Pages that train for five seconds or more."""
GENERATED = {"ledger", "trl_options", "engines"}
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md"))
                               if path.stem not in GENERATED)]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"`(\w+\.(?:py|toml|jsonl|v))`\)?(?:, once more)?:$")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
WITHIN = re.compile(r" +# .*\bwithin ([\d.]+)$")
"""The comment of a command whose numbers differ between machines, and by how much at most."""
ROOMS = {
    "entropy_theory": entropy_theory_commands, "simulations": simulations_commands,
    "llm_bridge": llm_bridge_commands, "llm_bridge.recipes": recipes_commands,
    "paper_figures": paper_figures_commands,
}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def blocks(page: str) -> list[tuple[str, str, str | None]]:
    """(language, content, file) of each block; the file is the one that the paragraph before it names."""
    found, end = [], 0
    for match in BLOCK.finditer(page):
        before = page[end:match.start()].rstrip().rsplit("\n\n", 1)[-1]
        named = FILE.search(before)
        found.append((match[1], match[2], named[1] if named else None))
        end = match.end()
    return found


def is_printed(expected: str, printed: str, within: float = 0.0) -> bool:
    """Return whether a line is there, with numbers that differ by no more than so much."""
    if not within:
        return expected in printed
    found = re.search(f"({NUMBER.pattern})".join(map(re.escape, NUMBER.split(expected))), printed)
    numbers = [float(one) for one in NUMBER.findall(expected)]
    return found is not None and all(
        abs(float(ours) - one) <= within for ours, one in zip(found.groups(), numbers, strict=True))


def commands(console: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with the lines that its output must hold; "..." stands for any."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() not in ("", "..."):
            found[-1][1].append(" ".join(line.split()))
    return found


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[list[str] | str, Path], str]]:
    """Runs a block of Python, as arguments of the interpreter, or a command; returns what it printed."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    warm = Warm({**clean, "PYTHONPATH": paths, "COLUMNS": "200"})

    def run(command: list[str] | str, folder: Path) -> str:
        if isinstance(command, str):  # installed or not
            words = shlex.split(re.sub(r"^policy-entropy\b", "python -m policy_entropy", command))
            assert words[0] == "python", command
            assert not set(command) & set("|<>;&$*"), f"{command}: needs a shell"
            command = words[1:]
        _, out, err = warm.run(command, folder)
        assert not re.search(r"^(Traceback|error:)", err, re.MULTILINE), err[-3000:]
        return out + err

    yield run
    warm.close()


def test_a_block_that_is_wrong_is_found(tmp_path, run):
    """A harness that runs nothing would find every page right."""
    assert blocks("See `a.py`:\n\n```python\n1\n```\n\nthen\n\n```console\n$ ls\n```") == [
        ("python", "1\n", "a.py"), ("console", "$ ls\n", None)]
    assert commands("$ one\na  b\n...\n$ two\n") == [("one", ["a b"]), ("two", [])]
    assert is_printed("a [0.81, -0.2] (b)", "x a [0.85, -0.24] (b) y", 0.05)
    assert not is_printed("a [0.81, -0.2] (b)", "x a [0.87, -0.24] (b) y", 0.05)
    assert not is_printed("a [0.81]", "a [0.81, 0.81]", 0.05)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run(["-c", "1/0"], tmp_path)


def understood(line: str) -> None:
    """Read a line of a ``bash`` block as its command would, without running it."""
    words = shlex.split(line, comments=True)
    words = words[:words.index(">")] if ">" in words else words
    while words and re.fullmatch(r"\w+=\S*", words[0]):
        words = words[1:]
    if not words or words[-1:] == ["&"]:
        return
    first, *rest = words
    if first == "make":
        assert all(word in TARGETS for word in rest if "=" not in word), line
    elif first == "pip":
        for extra in re.findall(r"\[(.*?)\]", line):
            assert set(extra.split(",")) <= EXTRAS.keys(), line
    elif first == "policy-entropy":
        assert rest[0] in console.COMMANDS, line
        if rest[0] == "train":
            return trains(rest[1:])
        command_line.parse(_options(rest[0], console.COMMANDS[rest[0]]), rest[1:], prog=first)
    elif first == "python" and rest[:2] == ["-m", "benchmarks.diagnosis"]:
        benchmark.options().parse_args(rest[2:])
    elif first == "python" and rest[0] == "-m":
        if rest[1] != "paper_figures.site":
            understood_by(rest[1], rest[2:], line)
    elif first == "python":
        assert (ROOT / rest[0]).is_file(), line
    elif first in ("accelerate", "torchrun"):
        config = next((word for word in rest if word.endswith(".yaml")), None)
        assert config is None or (ROOT / config).is_file(), line
        understood_by("llm_bridge", rest[rest.index("llm_bridge") + 1:], line)
    else:
        assert first in ("apt", "mkdir", "dask", "docker"), f"{line}: not known to this test"
    return None


def understood_by(room: str, words: list[str], line: str) -> None:
    command = ROOMS[room].COMMANDS[words[0]]
    if not command.parses:
        command_line.parse(command_line.deferred(command.function()), words[1:], prog=line)
    elif room == "llm_bridge" and words[0] == "train":
        trains(words[1:])


def trains(words: list[str]) -> None:
    """Read the options of a training run; data and rules of a user's own need not be there."""
    config = llm_bridge_commands._config(TrainConfig, words, "train")
    if ":" not in config.rule:
        rule_options.from_texts(config.rule, config.rule_options)


def _options(name: str, command: command_line.Command):
    if name in OPTIONS:
        return command_line.Command(place=OPTIONS[name], summary="").function()
    return command_line.deferred(command.function())


def test_a_line_that_its_command_would_refuse_is_found():
    for line in ("policy-entropy train --rule aepoo", "policy-entropy fit log.csv --frist 0.1",
                 "policy-entropy trian", "make reprodce", "pip install '.[lmm]'",
                 "python benchmarks/no.py", "python -m simulations swep a.toml",
                 "accelerate launch -m llm_bridge train --stesp 3"):
        with pytest.raises((AssertionError, ValueError, KeyError)):
            understood(line)


def test_every_line_of_bash_is_one_that_its_command_reads():
    for page in PAGES:
        for language, content, _ in blocks(page.read_text()):
            if language == "bash":
                for line in content.replace("\\\n", " ").splitlines():
                    understood(line)


def test_addresses_elsewhere_have_one_form():
    """Tests fetch nothing: `make links` asks whether they answer."""
    form = r"https://arxiv\.org/abs/\d{4}\.\d{5}"
    files = [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), ROOT / "pyproject.toml",
             *(ROOT / "docs").rglob("*.md")]
    found = [address for file in files
             for address in re.findall(r"""https?://[^\s)>"'`\]]+""", file.read_text())]
    assert len(found) >= 6
    assert all(re.fullmatch(form, address) for address in found), found


LINK = re.compile(r"\]\(([^)\s]*?)(?:#([^)\s]+))?\)")
MADE = {"bandit.md", "/found.md", "/contributing.md"}
"""Pages that the site's maker puts beside those of docs/."""
NAMED = re.compile(r"\b(docs/[\w/]+\.md)(?:#([\w-]+))?")


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    words = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in words}


def dangling(text: str, folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """The pages and headings that a text names and that are not there."""
    found = []
    for address, heading in pattern.findall(text):
        # The site's links from the root are those from docs/.
        page = ROOT / "docs" / address[1:] if address.startswith("/") else folder / address
        if "://" in address or not address:
            continue
        # paper_figures/site/test_site.py looks for generated pages.
        if address in MADE or not page.parent.exists():
            continue
        if not page.exists():
            found.append(address)
        elif heading and page.suffix == ".md" and heading not in headings(page):
            found.append(f"{address}#{heading}")
    return found


def test_pages_and_headings_that_are_named_are_there():
    """By links between pages, and by code; what a merge has lost would be missed by nobody."""
    assert dangling("[a](install.md#no-such) [b](https://a.b#c)", ROOT / "docs", LINK) == [
        "install.md#no-such"]
    assert dangling("docs/gone.md, docs/install.md#no-such", ROOT, NAMED) == [
        "docs/gone.md", "docs/install.md#no-such"]
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md")]:
        assert not dangling(page.read_text(), page.parent, LINK), page
    ours = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True)
    for path in ours.stdout.split():
        assert path == "tests/package/test_pages.py" or not dangling(
            (ROOT / path).read_text(), ROOT, NAMED), path


@pytest.mark.parametrize("page", [
    pytest.param(page, id=page.stem, marks=[pytest.mark.deep] * (page.stem in LONG))
    for page in PAGES
    if re.search(r"^```(python|console)$", page.read_text(), re.MULTILINE)])
def test_it_runs_as_printed(tmp_path, page, run):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for language, content, file in blocks(page.read_text()):
        if file is not None:
            (tmp_path / file).write_text(content)
        elif language == "python":
            run(["-c", content], tmp_path)
        elif language == "console":
            for command, expected in commands(content):
                within = WITHIN.search(command)
                printed = " ".join(run(WITHIN.sub("", command), tmp_path).split())
                for line in expected:
                    assert is_printed(line, printed, float(within[1]) if within else 0.0), (
                        f"{command}: {line!r} not in {printed[-3000:]}")
                if "..." not in content:  # the whole output of one command
                    assert printed == " ".join(expected)
        else:
            assert language in ("bash", "text", "toml", "json", "coq"), language
