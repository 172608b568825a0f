"""The notebooks as pages, with what they print and draw, executed again only where something changed.

All six take minutes, so that ``make reproduce`` executes them and ``make docs`` shows what it kept.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from entropy_theory.support.results import read_json, write_json
from entropy_theory.support.user_errors import need, run_command
from paper_figures.reproduce.stage import code_digest
from paper_figures.site.markup import fenced

FOLDER = Path(__file__).parents[1] / "notebooks"
ROOMS = ("entropy_theory", "simulations", "llm_bridge")
"""The packages that notebooks use; a change of their code executes the notebooks again."""
SECONDS_A_CELL = 600
Outputs = Mapping[str, list[list[dict[str, Any]]]]
"""The outputs of each code cell, by notebook."""


def execute(folder: Path) -> None:
    """Execute the notebooks whose outputs are not in ``folder`` yet, and keep them there.

    Args:
        folder: for NAME.json, the outputs with a digest of the notebook and of the code.

    Raises:
        MissingExtraError: nbclient is not installed.
        ValueError: a cell of a notebook failed.
    """
    need("the outputs of notebooks", "nbclient")
    known = kept(folder)
    for file, digest in _digests().items():
        if file.stem not in known:
            print(f"executing {file.name}", flush=True)
            write_json(folder / f"{file.stem}.json", {"digest": digest, "outputs": _run(file)})


def kept(folder: Path) -> Outputs:
    """Return what `execute` kept in ``folder`` of the notebooks as they are now."""
    found: dict[str, Any] = {}
    for file, digest in _digests().items():
        path = folder / f"{file.stem}.json"
        try:
            record = read_json(path) if path.exists() else {"digest": ""}
            if record["digest"] == digest:
                found[file.stem] = record["outputs"]
        except (ValueError, KeyError, TypeError):
            continue  # damaged: it is executed again
    return found


def _digests() -> dict[Path, str]:
    """Return a digest of each notebook with the code of `ROOMS`."""
    code = "".join(map(code_digest, ROOMS)).encode()
    return {file: hashlib.sha256(code + file.read_bytes()).hexdigest() for file in _files()}


def _run(file: Path) -> list[list[dict[str, Any]]]:
    # Here: they take a second to import, and pages without outputs do without them.
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    notebook = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=SECONDS_A_CELL, kernel_name="python3",
                                resources={"metadata": {"path": folder}})
        # A kernel warns of its own debugger and files, which is nothing for a reader of our progress.
        log = Path(folder) / "kernel.log"
        try:
            with log.open("wb") as stream:
                client.execute(stdout=stream, stderr=stream)
        except CellExecutionError as error:
            raise ValueError(f"{file} does not run, mend this cell: {error}") from error
        except DeadKernelError as error:
            said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
            raise ValueError(f"{file} does not run, its kernel ended: {said}") from error
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def _files() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def pages(outputs: Outputs) -> dict[str, str]:
    """Return a page for each notebook, and their index, by name; drawings are those of `pictures`.

    Args:
        outputs: of the notebooks that were executed; the page of another says that it was not.
    """
    files = _files()
    written = {f"notebooks/{file.stem}": _page(file, outputs.get(file.stem)) for file in files}
    hidden = "\n".join(file.stem for file in files)
    index = "\n".join([
        "# Notebooks", "",
        "Notebooks with exercises and their solutions. Open them in any Jupyter that uses the "
        "project's environment: `.venv/bin/pip install jupyterlab && .venv/bin/jupyter lab "
        "paper_figures/notebooks`.", "", fenced(hidden, "{toctree}"),
    ])
    return {**written, "notebooks/index": index}


def pictures(outputs: Outputs) -> dict[str, bytes]:
    """Return the drawings of executed notebooks, by their names beside the pages."""
    return {
        _picture(name, cell, i): output["data"]["image/svg+xml"].encode()
        for name, cells in outputs.items() for cell, of_cell in enumerate(cells)
        for i, output in enumerate(of_cell) if "image/svg+xml" in output.get("data", {})
    }


def _picture(name: str, cell: int, output: int) -> str:
    return f"{name}-{cell}-{output}.svg"


def _page(file: Path, outputs: list[list[dict[str, Any]]] | None) -> str:
    parts, code = [], 0
    for cell in read_json(file)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(fenced(source, "python"))
        if outputs is not None:
            parts += _shown(file.stem, code, outputs[code])
        code += 1
    state = "with what it printed and drew when this site was built" if outputs is not None else (
        "without its outputs: `make reproduce` executes it, and its site shows them, which takes minutes")
    place = f"paper_figures/notebooks/{file.name}"
    return "\n\n".join([parts[0], f"This page shows {{download}}`{place} </code/{place}>`, {state}.",
                        *parts[1:]]) + "\n"


def _shown(name: str, cell: int, outputs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the outputs of a cell: drawings, and all else as text."""
    found = []
    for i, output in enumerate(outputs):
        data = output.get("data", {})
        if "image/svg+xml" in data:
            found.append(f"```{{image}} {_picture(name, cell, i)}\n:alt: what the cell draws\n```")
        elif words := output.get("text") or data.get("text/plain"):
            found.append(fenced(words, "{code-block} text\n:class: output"))
    return found


if __name__ == "__main__":
    run_command(lambda: execute(Path(sys.argv[1])))
