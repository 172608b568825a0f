"""``python -m paper_figures.site``: builds the documentation."""

from __future__ import annotations

from pathlib import Path

import tyro

from entropy_theory.support.user_errors import run_command
from paper_figures.site import building, pages


def site(
    *, results: Path = Path("build"), output: Path = Path("build/docs"), jobs: int = 1
) -> int:
    """Build the documentation as pages that open from disk and need no network.

    Args:
        results: folder with figures/ and ledger.json; a figure that was not made is named as such.
        output: folder for the pages; their source is written beside it.
        jobs: processes of Sphinx.
    """
    source = output.with_name(f"{output.name}-source")
    pages.write(pages.everything(), results, source)
    print(building.build(source, output, jobs=jobs))
    return 0


def main() -> int:
    """Entry point."""
    return int(tyro.cli(site, prog="python -m paper_figures.site"))


if __name__ == "__main__":
    run_command(main)
