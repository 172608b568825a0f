"""``python -m paper_figures.site`` builds the documentation; ``paper_figures report`` that of a run."""

from __future__ import annotations

import sys
from pathlib import Path

from entropy_theory.support import command_line
from entropy_theory.support.locks import exclusive
from entropy_theory.support.results import check_writable
from entropy_theory.support.user_errors import need, run_command
from paper_figures.reproduce.stage import Profile

# What writes the pages is imported where it is needed: it takes seconds, and help needs none.

DOCUMENTED = ("aent.lemma-6", "aepo.arbitrary-entropy", "aepo.high-temperature-raises",
              "aepo.theorem-4.3b", "entropy-mechanism.covariance-positive", "entropy-mechanism.theorem-1",
              "extension.global-tempering", "extension.level-set-diverse-bonus",
              "extension.level-set-drift", "extension.level-set-flow",
              "extension.level-set-one-coefficient", "extension.level-set-step",
              "extension.score-forecast", "extension.sustainable-entropies", "later-work.opefo")
"""The claims of a small site: one of each source, and those that the hand-written pages link to."""
LINKED_FIGURES, LINKED_RULES = ("aepo-figure-2", "aepo-theorem-4-3"), ("reinforce", "grpo", "aepo")
"""The figures and rules that hand-written pages link to, and two rules more."""


def site(
    *, results: Path = Path("build"), output: Path = Path("build/docs"), jobs: int | None = None
) -> int:
    """Build the documentation as pages that open from disk and need no network.

    Args:
        results: folder with figures/ and ledger.json; a figure that was not made is named as such, and
            notebooks have the outputs that `report` kept.
        output: folder for the pages; their source is written beside it.
        jobs: processes of Sphinx; by default one per core.
    """
    from paper_figures.site import building, pages

    source = output.with_name(f"{output.name}-source")
    with exclusive(output):
        pages.write(pages.everything(), results, source)
        print(building.build(source, output, jobs=jobs))
    return 0


def report(*, output: Path = Path("build"), profile: Profile = "default", jobs: int | None = None) -> int:
    """Write the site of all results, OUTPUT/report/index.html, which opens from disk without a network.

    Args:
        output: folder with ledger, figures and runs; a part that is missing is named on its page.
        profile: smoke has few pages, those of the figures that were made among them, and executes no
            notebook.
        jobs: processes of the site's generator; by default one per core.
    """
    need("the site", "matplotlib")
    if not output.is_dir():
        raise ValueError(f"no such folder: {output}: name the folder of results, or run make reproduce")
    from paper_figures.site import building, notebooks, pages

    if not pages.WRITTEN.is_dir():
        raise ValueError(f"the site is made of the pages in {pages.WRITTEN}, which only a checkout has: "
                         "clone the repository and run make docs")
    check_writable(output / "report" / "index.html")
    need("the site", "sphinx", "myst_parser")
    selection = pages.everything()
    if profile != "smoke":
        notebooks.execute(output / "notebooks")
    else:
        made = [name for name in selection.figures
                if name in LINKED_FIGURES or (output / "figures" / f"{name}.svg").exists()]
        selection = pages.some(DOCUMENTED, made, LINKED_RULES, ())
    source = output / "report-source"
    with exclusive(output / "report"):
        pages.write(selection, output, source)
        print(building.build(source, output / "report", jobs=jobs))
    return 0


def main() -> int:
    """Entry point."""
    build = command_line.parse(
        command_line.deferred(site), sys.argv[1:], prog="python -m paper_figures.site")
    return int(build())


if __name__ == "__main__":
    run_command(main)
