"""The catalog is complete: what the papers show has a file, a test and a recipe that exists."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

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


MOST_WORDS, MOST_IN_A_FINDING = 60, 40


@pytest.mark.parametrize("name", FIGURES)
def test_captions_are_short_and_findings_are_one_sentence(name: str) -> None:
    """Walls of numbers; a finding of two sentences."""
    figure = FIGURES[name]
    assert len(figure.ours.split()) < MOST_WORDS
    assert figure.headline
    for sentence in (figure.paper, figure.headline.says):
        assert len(sentence.split()) <= MOST_IN_A_FINDING
        assert sentence.endswith(".")
        assert len(re.findall(r"[.?!](?= [A-Z])", sentence.replace("et al.", "et al"))) == 0


@pytest.mark.parametrize("name", FIGURES)
def test_captions_promise_no_runs(name: str) -> None:
    """A caption that speaks of language models whether or not any ran: what ran is said by the inputs."""
    assert not re.search(r"where .*runs exist|language models where", FIGURES[name].ours)


def test_figures_of_all_papers_are_imported() -> None:
    """A new folder of figures that the catalog does not know."""
    folders = {
        path.parent.name for path in Path(paper_figures.__file__).parent.glob("*/*.py")
        if re.search(r"^FIGURE\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert folders == {package.__name__.rpartition(".")[2] for package in SOURCES.values()}
