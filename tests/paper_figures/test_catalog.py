"""The catalog is complete: what the papers number has a file, a test and a recipe that exists."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from llm_bridge import recipes
from paper_figures import aent, aepo, entropy_mechanism, extensions
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.figure import MissingInputError
from tests.paper_figures.test_evidence import KEPT

TESTS = Path(__file__).parent
SOURCES = {"Cui et al.": entropy_mechanism, "AEPO": aepo, "AEnt": aent, "This project": extensions}
# What each paper numbers. Cui et al., Figure 1 is the summary of Figures 3 to 6.
PAPERS = {
    "Cui et al.": {"Figure": set(range(1, 13)), "Table": {1, 2}},
    "AEPO": {"Figure": {1, 2, 3, 4}, "Table": {1, 2, 3, 4}},
    "AEnt": {"Figure": {1, 2, 3, 4, 5, 6}, "Table": {1}, "Algorithm": {1}},
}
COMMANDS = {
    "entropy-accounts": "llm_bridge audit --model small-sums --task split",
    "holding-a-target": "holding-a-target/result.json",
    "holding-a-pretrained-target": "holding-a-target-chain-sum/result.json --design pretrained-small",
    "independent-logits": "--optimizer sgd",
    "targets-for-each-prompt": "holding-a-target-each-prompt/result.json --design each-prompt",
}
"""What the command is that makes the input of some figures, which simulations do not make."""
MOST_WORDS, MOST_IN_A_FINDING = 60, 40


def numbered(source):
    """("AEPO", "Figure", 3) and the like, out of "AEPO, Figures 3 and 4" or "Figures 3 to 5"."""
    paper, _, rest = source.partition(", ")
    found = set()
    for kind, numbers in re.findall(r"(Figure|Table|Algorithm)s? ([\d, andto]+)", rest):
        digits = [int(n) for n in re.findall(r"\d+", numbers)]
        if " to " in numbers:
            digits = list(range(digits[0], digits[-1] + 1))
        found |= {(paper, kind, n) for n in digits}
    return found


def test_everything_that_a_paper_numbers_is_here_and_nothing_else():
    """A figure of a paper that was left out."""
    here = set().union(*(numbered(figure.source) for figure in FIGURES.values()))
    assert here == {(paper, kind, n) for paper, kinds in PAPERS.items()
                    for kind, numbers in kinds.items() for n in numbers}


def test_every_file_is_in_the_catalog_under_its_source_and_has_its_test():
    """A figure that no command can build, in another paper's folder, or that nothing tests."""
    names = set()
    for source, package in SOURCES.items():
        folder = package.__name__.rpartition(".")[2]
        for module in pkgutil.iter_modules(package.__path__):
            found = importlib.import_module(f"{package.__name__}.{module.name}")
            if not hasattr(found, "FIGURE"):
                continue
            names.add(found.FIGURE.name)
            assert found.FIGURE.source.partition(", ")[0] == source
            test = TESTS / folder / f"test_{module.name}.py"
            text = test.read_text(encoding="utf-8") if test.exists() else ""
            assert found.FIGURE.name in KEPT or re.search(r"^def test_", text, re.MULTILINE), module.name
    assert names == set(FIGURES)


def test_figures_say_what_they_are_in_short_sentences():
    """Recipes that do not exist; neither drawing nor table; walls of words; two sentences for one."""
    for figure in FIGURES.values():
        assert figure.draw or figure.tables
        assert figure.title
        assert bool(figure.place) == (figure.source.partition(", ")[0] in PAPERS)
        assert 0 < len(figure.ours.split()) < MOST_WORDS
        assert figure.headline
        for sentence in (figure.paper, figure.headline.says):
            assert 0 < len(sentence.split()) <= MOST_IN_A_FINDING
            assert sentence.endswith(".")
            assert not re.search(r"[.?!](?= [A-Z])", sentence.replace("et al.", "et al")), sentence
        for recipe in figure.recipes:
            recipes.load(recipe)


@pytest.mark.parametrize("name", FIGURES)
def test_a_missing_input_names_the_command_that_makes_it(name, tmp_path):
    """An error that does not say what to do; a figure without results that claims more than formulas."""
    message = ""
    with inputs.reading(tmp_path) as read:
        try:
            table = FIGURES[name].data(tmp_path)
        except MissingInputError as error:
            message = str(error)
    if message:
        assert re.search(r"run `python -m (simulations|llm_bridge|paper_figures)", message)
        assert COMMANDS.get(name, "") in message
        return
    shown = {**read.provenance, **table.attrs.get("inputs", {})}
    assert set(read.evidence(shown)) <= {"theory", "the paper's numbers"}
