"""Sets the site's pages with Sphinx; a warning is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from entropy_theory.support.results import check_writable
from entropy_theory.support.user_errors import need
from paper_figures.report.page import write_report
from paper_figures.reproduce.stage import Profile
from paper_figures.site import pages

DOCUMENTED = ("aent.lemma-6", "aepo.arbitrary-entropy", "aepo.high-temperature-raises",
              "aepo.theorem-4.3b", "entropy-mechanism.covariance-positive", "entropy-mechanism.theorem-1",
              "extension.score-forecast", "extension.sustainable-entropies", "later-work.opefo")
"""The claims of a small site: one of each source, and those that the hand-written pages link to."""


def write_site(results: Path, *, profile: Profile = "default", jobs: int = 1) -> Path:
    """Write RESULTS/report: the site, and one page with everything; return the site's front page.

    Args:
        results: folder with ledger.json, figures/, runs/ and evaluations/, as far as they were computed.
        profile: of smoke the site has few pages, those of the figures that were made among them.
        jobs: processes of Sphinx.

    Raises:
        ValueError, MissingExtraError: as `build`, or where this is no checkout.
    """
    output, source = results / "report", results / "report-source"
    if not pages.WRITTEN.is_dir():
        raise ValueError(f"the site is made of the pages in {pages.WRITTEN}, which only a checkout has: "
                         "clone the repository and run make docs")
    check_writable(output / "index.html")
    need("the site", "sphinx", "myst_parser")
    selection = pages.everything()
    if profile == "smoke":
        made = [name for name in selection.figures if (results / "figures" / f"{name}.svg").exists()]
        selection = pages.some(DOCUMENTED, made, ("aepo", "grpo"), ("entropy_theory.policy",))
    pages.write(selection, results, source)
    front = build(source, output, jobs=jobs)
    write_report(results)
    return front


def build(source: Path, output: Path, *, jobs: int = 1) -> Path:
    """Have Sphinx set the pages of a folder, and return the front page.

    Args:
        source: the folder that `pages.write` filled.
        output: folder for the site; what is in it goes.
        jobs: processes of Sphinx.

    Raises:
        ValueError: Sphinx gave a warning; it is printed above.
        MissingExtraError: Sphinx is not installed.
    """
    need("the documentation", "sphinx", "myst_parser")
    if output.exists():  # afresh: a page that is gone would stay, and links to it would be thought good
        shutil.rmtree(output)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-j", str(jobs),
               "-d", str(source / ".doctrees"), "-E", str(source), str(output)]
    if subprocess.run(command, check=False).returncode:
        raise ValueError(f"Sphinx found faults in {source}, listed above: mend what made these pages")
    return output / "index.html"
