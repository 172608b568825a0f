"""Sets the site's pages with Sphinx; a warning is an error."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

from entropy_theory.support import cores
from entropy_theory.support.user_errors import need
from paper_figures.site import search


def build(source: Path, output: Path, *, jobs: int | None = None) -> Path:
    """Have Sphinx set the pages of a folder, and return the front page.

    Args:
        source: the folder that `pages.write` filled.
        output: folder for the site; what is in it goes.
        jobs: processes of Sphinx; by default one for each processor that this one may use.

    Raises:
        ValueError: Sphinx gave a warning; it is printed above.
        OSError: the disk is full.
        MissingExtraError: Sphinx is not installed.
    """
    need("the documentation", "sphinx", "myst_parser")
    if output.exists():  # afresh: a page that is gone would stay, and links to it would be thought good
        shutil.rmtree(output)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
               "-j", str(jobs or cores.usable()), "-d", str(source / ".doctrees"), "-E",
               str(source), str(output)]
    run = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    sys.stderr.write(run.stderr)
    full = os.strerror(errno.ENOSPC)
    if run.returncode and full in run.stderr:
        raise OSError(
            f"cannot write {output} ({full}): free some space or choose another output directory")
    if run.returncode:
        raise ValueError(f"Sphinx found faults in {source}, listed above: mend what made these pages")
    search.finish(output)
    return output / "index.html"
