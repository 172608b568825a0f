"""The catalog is complete: what the papers show has a file, a test and a recipe that exists."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

import paper_figures
from llm_bridge import recipes
from paper_figures import aent, aepo, entropy_mechanism, extensions
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.figure import MissingInputError, PaperFigure

TESTS = Path(__file__).parent
SOURCES = {"Cui et al.": entropy_mechanism, "AEPO": aepo, "AEnt": aent, "This project": extensions}
# What each paper numbers. Cui et al., Figure 1 is the summary of Figures 3 to 6.
PAPERS = {
    "Cui et al.": {"Figure": set(range(1, 13)), "Table": {1, 2}},
    "AEPO": {"Figure": {1, 2, 3, 4}, "Table": {1, 2, 3, 4}},
    "AEnt": {"Figure": {1, 2, 3, 4, 5, 6}, "Table": {1}, "Algorithm": {1}},
}


def modules() -> dict[str, PaperFigure]:
    """"source/file" of every figure file -> its figure."""
    return {
        f"{package.__name__.rpartition('.')[2]}/{module.name}": found.FIGURE
        for package in SOURCES.values()
        for module in pkgutil.iter_modules(package.__path__)
        if hasattr(found := importlib.import_module(f"{package.__name__}.{module.name}"), "FIGURE")
    }


def numbered(source: str) -> set[tuple[str, str, int]]:
    """("AEPO", "Figure", 3) and the like, out of "AEPO, Figures 3 and 4" or "Figures 3 to 5"."""
    paper, _, rest = source.partition(", ")
    found = set()
    for kind, numbers in re.findall(r"(Figure|Table|Algorithm)s? ([\d, andto]+)", rest):
        digits = [int(n) for n in re.findall(r"\d+", numbers)]
        if " to " in numbers:
            digits = list(range(digits[0], digits[-1] + 1))
        found |= {(paper, kind, n) for n in digits}
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_that_a_paper_numbers_is_here(paper: str) -> None:
    """A figure of a paper that was left out."""
    here = set().union(*(numbered(figure.source) for figure in FIGURES.values()))
    wanted = {(paper, kind, n) for kind, numbers in PAPERS[paper].items() for n in numbers}
    assert wanted - here == set()
    assert {found for found in here if found[0] == paper} - wanted == set()


def test_every_file_is_in_the_catalog_under_its_source() -> None:
    """A figure that no command can build; one in another paper's folder."""
    found = modules()
    assert {figure.name for figure in found.values()} == set(FIGURES)
    assert len(found) == len(FIGURES)
    for name, figure in found.items():
        package = SOURCES[figure.source.partition(", ")[0]]
        assert package.__name__ == f"paper_figures.{name.partition('/')[0]}"
        for _, kind, number in numbered(figure.source):
            assert re.search(rf"{kind.lower()}s?_(.*_)?{number}(_|$)", name.partition("/")[2]) or (
                "s_" in name  # several in one file
            ), name


@pytest.mark.parametrize("file", modules())
def test_every_file_has_its_test(file: str) -> None:
    """A figure whose numbers nothing looks at."""
    folder, _, name = file.partition("/")
    text = (TESTS / folder / f"test_{name}.py").read_text(encoding="utf-8")
    assert re.search(r"^ *def test_", text, re.MULTILINE)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_what_they_are(name: str) -> None:
    """Empty descriptions; recipes that do not exist; neither drawing nor table."""
    figure = FIGURES[name]
    assert figure.draw or figure.tables
    assert figure.paper
    assert figure.ours
    assert figure.title
    assert bool(figure.place) == (figure.source.partition(", ")[0] in PAPERS)
    for recipe in figure.recipes:
        recipes.load(recipe)


@pytest.mark.parametrize("name", FIGURES)
def test_a_missing_input_names_the_command_that_makes_it(name: str, tmp_path: Path) -> None:
    """An error that does not say what to do; a figure without results that claims more than formulas."""
    with inputs.reading(tmp_path) as read:
        message = ""
        try:
            table = FIGURES[name].data(tmp_path)
        except MissingInputError as error:
            message = str(error)
    if message:
        assert re.search(r"run `python -m (simulations|llm_bridge|paper_figures)", message)
        return
    shown = {**read.provenance, **table.attrs.get("inputs", {})}
    assert set(read.evidence(shown)) <= {"theory", "the paper's numbers"}


MOST_WORDS, MOST_ALOUD = 60, 40


@pytest.mark.parametrize("name", FIGURES)
def test_captions_are_short_and_papers_findings_are_one_sentence(name: str) -> None:
    """Walls of numbers; a finding of two sentences, or without its place in the paper."""
    figure = FIGURES[name]
    assert len(figure.ours.split()) < MOST_WORDS
    assert len(figure.paper.split()) <= MOST_ALOUD
    assert figure.paper.endswith(".")
    assert len(re.findall(r"[.?!](?= [A-Z])", figure.paper.replace("et al.", "et al"))) == 0


@pytest.mark.parametrize("name", FIGURES)
def test_captions_promise_no_runs(name: str) -> None:
    """A caption that speaks of language models whether or not any ran: what ran is said by the inputs."""
    assert not re.search(r"where .*runs exist|language models where", FIGURES[name].ours)


AXES = {
    "accuracy", "alpha", "change", "coefficient", "competence", "counted", "gain", "group", "high",
    "k", "learning_rate", "length", "low", "m", "margin", "n_actions", "offset", "optimal",
    "passing", "peakedness", "penalty", "policy", "right_answers", "run_setting", "seed", "seeds",
    "selected", "setting", "sharing", "sharpness", "side", "size", "start", "step", "strength",
    "target", "temperature", "vocabulary", "x",
}
"""Columns of floats that say where something was measured, or bound it."""
SHARES = {"entropy-mechanism-figure-6", "entropy-mechanism-table-1"}  # whose share is an axis
WITHOUT_MEASUREMENTS = {"aepo-table-4"}


def table_of(figure: PaperFigure, simulated: Callable[..., Path]) -> pandas.DataFrame:
    """The figure's data, after whatever it asks to be simulated."""
    results = simulated()
    while True:
        try:
            return figure.data(results)
        except MissingInputError as error:
            asked = re.search("python -m simulations run ([a-z0-9-]+)", str(error))
            if not asked:
                pytest.skip("needs runs of models")
            simulated(asked[1].replace("-", "_"))


@pytest.mark.parametrize("name", FIGURES)
def test_a_finding_has_words_for_any_numbers(name: str, simulated: Callable[..., Path]) -> None:
    """A headline that is too long, or a branch that fails, for numbers that we did not happen to get."""
    table = table_of(FIGURES[name], simulated)
    generator = np.random.default_rng(0)
    columns = [c for c in table if pandas.api.types.is_float_dtype(table[c]) and c not in AXES
               and not (c == "share" and name in SHARES)]
    assert columns or name in WITHOUT_MEASUREMENTS
    known = table["panel"].eq("ceiling") if "panel" in table else pandas.Series(False, table.index)
    for scramble in (generator.permutation, np.negative, lambda v: v * generator.random(len(v))):
        other = table.copy()
        for column in columns:
            values = table[column].to_numpy(copy=True)
            finite = np.isfinite(values) & ~known
            values[finite] = scramble(values[finite])
            other[column] = values
        FIGURES[name].finding(other)


def test_figures_of_all_papers_are_imported() -> None:
    """A new folder of figures that the catalog does not know."""
    folders = {
        path.parent.name for path in Path(paper_figures.__file__).parent.glob("*/*.py")
        if re.search(r"^FIGURE\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert folders == {package.__name__.rpartition(".")[2] for package in SOURCES.values()}
