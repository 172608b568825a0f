"""Guards paper_figures/notebooks: each runs from nothing, and so do its hidden solutions.

What a notebook says is held by the assertions in its own cells; here it is made sure that they run.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from paper_figures.site import notebooks

ROOM = Path(__file__).parents[3] / "paper_figures" / "notebooks"
NOTEBOOKS = sorted(ROOM.glob("*.ipynb"))
FRESH = """\
%reset -f
import os, warnings
os.chdir({folder!r})
warnings.filterwarnings('error', module=r'__main__|entropy_theory|simulations')
%reset -f
"""


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def solutions(notebook: nbformat.NotebookNode) -> list[str]:
    """The code inside the collapsed answers to the exercises."""
    hidden = [part for cell in notebook.cells if cell.cell_type == "markdown"
              for part in re.findall(r"<details>.*?</details>", cell.source, re.DOTALL)]
    return [code for part in hidden for code in re.findall(r"```python\n(.*?)```", part, re.DOTALL)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_clean(path):
    """A diff of a notebook shows what its author changed: no outputs, no counts, ids that stay."""
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), (
        f"clear the outputs: jupyter nbconvert --clear-output --inplace {path}")
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not any(cell.metadata for cell in notebook.cells)
    assert all(re.fullmatch("[a-z0-9-]+", cell.id) and not re.fullmatch("[0-9a-f]{8}", cell.id)
               for cell in notebook.cells), "give cells ids that say what they hold"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel without names of its own; the notebooks share it, and so what they import."""
    # Sockets in place of ports; their paths must be short.
    with tempfile.TemporaryDirectory() as runtime, pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        patch.setenv("JUPYTER_RUNTIME_DIR", runtime)
        owner = NotebookClient(nbformat.v4.new_notebook(), kernel_name="python3")
        manager = owner.create_kernel_manager()
        manager.transport, manager.ip = "ipc", f"{runtime}/kernel"
        with owner.setup_kernel():
            yield manager


@pytest.mark.parametrize("path", [
    # Make reproduce executes all of them.
    pytest.param(path, id=path.stem, marks=[pytest.mark.deep] * (not path.stem.startswith("1_")))
    for path in NOTEBOOKS
])
def test_it_runs(path, tmp_path, kernel):
    """All cells in order and then the solutions, with names and a folder of their own, without a
    warning from this package, a picture at least twice."""
    notebook = read(path)
    checked = [cell for cell in notebook.cells if cell.cell_type == "code" and "assert" in cell.source]
    assert len(checked) >= 4
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FRESH.format(folder=str(tmp_path))))
    notebook.cells += [nbformat.v4.new_code_cell(code) for code in solutions(notebook)]
    client = NotebookClient(notebook, km=kernel, timeout=300)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) >= 2
    said = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "Warning" not in said


@pytest.mark.parametrize(("cell", "problem"), [
    ("1 + 1", ""), ("1 / 0", "mend this cell"), ("import os; os._exit(3)", "its kernel ended"),
])
def test_what_a_kernel_warns_of_does_not_reach_the_user(cell, problem, tmp_path, monkeypatch, capfd):
    """Five warnings about TCP stood in the progress of the main job."""
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(written, tmp_path / "one.ipynb")
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    if problem:
        with pytest.raises(ValueError, match=problem):
            notebooks.execute(tmp_path)
    else:
        notebooks.execute(tmp_path)
        assert notebooks.kept(tmp_path)["one"][0][0]["data"]["text/plain"] == "2"
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("executing one.ipynb\n", "")
