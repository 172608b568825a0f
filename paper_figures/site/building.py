"""Builds the site with Sphinx; a warning is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from entropy_theory.support.user_errors import need
from paper_figures.site.pages import Selection, write


def build(selection: Selection, results: Path, output: Path, *, jobs: int = 1) -> Path:
    """Write the site's source beside ``output``, have Sphinx set it, and return the front page.

    Args:
        selection: what gets pages.
        results: folder with figures/ and ledger.json, as far as they were computed.
        output: folder for the site.
        jobs: processes of Sphinx.

    Raises:
        ValueError: Sphinx gave a warning; it is printed above.
        MissingExtraError: Sphinx is not installed.
    """
    need("the documentation", "sphinx", "myst_parser")
    source = output.with_name(f"{output.name}-source")
    write(selection, results, source)
    if output.exists():  # afresh: a page that is gone would stay, and links to it would be thought good
        shutil.rmtree(output)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-j", str(jobs),
               "-d", str(source / ".doctrees"), "-E", str(source), str(output)]
    if subprocess.run(command, check=False).returncode:
        raise ValueError(f"Sphinx found faults in {source}, listed above: mend what made these pages")
    return output / "index.html"
