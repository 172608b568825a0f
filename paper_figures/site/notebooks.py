"""The notebooks as pages, as they are: nothing is executed here (tests execute them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entropy_theory.support.results import read_json
from paper_figures.site.markup import fenced

FOLDER = Path(__file__).parents[1] / "notebooks"


def pages() -> dict[str, str]:
    """Return a page for each notebook, and their index, by name."""
    files = sorted(FOLDER.glob("*.ipynb"))
    written = {f"notebooks/{file.stem}": _page(file) for file in files}
    hidden = "\n".join(file.stem for file in files)
    index = "\n".join([
        "# Notebooks", "",
        "Five to learn from, with exercises and their solutions. Open them in any Jupyter that uses the "
        "project's environment: `.venv/bin/pip install jupyterlab && .venv/bin/jupyter lab "
        "paper_figures/notebooks`.", "", fenced(hidden, "{toctree}"),
    ])
    return {**written, "notebooks/index": index}


def _page(file: Path) -> str:
    cells = [_cell(cell) for cell in read_json(file)["cells"]]
    note = f"*This page shows `paper_figures/notebooks/{file.name}` without its outputs.*"
    return "\n\n".join([cells[0], note, *cells[1:]]) + "\n"


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    return source if cell["cell_type"] == "markdown" else fenced(source, "ipython3")
