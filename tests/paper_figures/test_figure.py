"""How figures and tables are written: whole, once, the same bytes for the same data."""

import dataclasses
import hashlib
import json

import pandas
import pytest

from entropy_theory.support.listed import Listed
from paper_figures import catalog
from paper_figures import commands as command
from paper_figures import figure as writer
from paper_figures.aepo import figure_2_tempered_reinforce as figure_2
from paper_figures.catalog import FIGURES
from paper_figures.data import inputs
from paper_figures.drawing.table import Table, estimate
from paper_figures.figure import FORMATS, Finding, MissingInputError, PaperFigure, build
from tests.daily import one_in
from tests.paper_figures.conftest import write_run


@pytest.mark.parametrize("name", one_in(2, ["aepo-figure-2", "entropy-audit"]))
def test_the_same_data_give_the_same_bytes(name, smoke_results, tmp_path):
    """Dates and random ids in files that are compared or committed."""
    digests = []
    for attempt in ("first", "second"):
        build(FIGURES[name], smoke_results, tmp_path / attempt)
        files = [tmp_path / attempt / f"{name}.{ext}" for ext in (*FORMATS, "csv", "json")]
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]


def test_a_drawing_of_the_same_data_is_kept_and_of_other_data_replaced(tmp_path):
    """Stale or needless drawings."""
    figure = FIGURES["small-transformer-training"]
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    drawing = tmp_path / "figures" / f"{figure.name}.svg"
    before = drawing.stat().st_mtime_ns
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    assert drawing.stat().st_mtime_ns == before
    write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0, 0.9])
    build(figure, tmp_path, tmp_path / "figures", ["svg"])
    assert drawing.stat().st_mtime_ns != before


def test_no_drawing_of_other_data_is_left_in_a_format_that_was_not_asked_for(tmp_path):
    """A PDF of last week's runs beside today's SVG, which a later build of all takes for complete."""
    figure = FIGURES["small-transformer-training"]
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    build(figure, tmp_path, tmp_path, ["svg", "png"])
    build(figure, tmp_path, tmp_path, ["svg"])
    assert (tmp_path / f"{figure.name}.png").exists()
    write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0, 0.9])
    build(figure, tmp_path, tmp_path, ["svg"])
    assert not (tmp_path / f"{figure.name}.png").exists()


def test_a_damaged_dataset_is_named_with_the_remedy(tmp_path):
    """A truncated file that ends in a traceback."""
    path = tmp_path / "simulations" / "aepo_figure_2.nc"
    path.parent.mkdir()
    path.write_bytes(b"CDF\x01 not really")
    with pytest.raises(MissingInputError, match=r"aepo_figure_2\.nc cannot be read .* delete it"):
        figure_2.data(tmp_path)


def test_what_is_up_to_date_is_not_even_read(smoke_results, tmp_path, monkeypatch):
    """Minutes spent on figures that nothing has changed for."""
    figure = FIGURES["aepo-figure-2"]
    first = build(figure, smoke_results, tmp_path, ["svg"])
    assert set(first["read"]) == {"simulations/aepo_figure_2.nc"}
    assert first["inputs"]["simulations/aepo_figure_2.nc"]["versions"]["numpy"]

    def refuse(*arguments):
        raise AssertionError("read again")

    monkeypatch.setattr(inputs, "simulation", refuse)
    assert build(figure, smoke_results, tmp_path, ["svg"]) == first
    for gone in ("aepo-figure-2.svg", "aepo-figure-2.csv"):
        (tmp_path / gone).unlink()
        with pytest.raises(AssertionError, match="read again"):
            build(figure, smoke_results, tmp_path, ["svg"])
        (tmp_path / gone).touch()


@pytest.mark.parametrize("maker", one_in(2, ["_code_digest", "matplotlib"]))
def test_a_figure_is_made_anew_by_other_code(maker, smoke_results, tmp_path, monkeypatch):
    """A repaired figure, of the same data, that still shows what it showed."""
    figure = FIGURES["aepo-figure-2"]
    build(figure, smoke_results, tmp_path, ["svg"])
    drawing = tmp_path / "aepo-figure-2.svg"
    old = drawing.read_bytes()
    drawing.write_text("of the code before")
    build(figure, smoke_results, tmp_path, ["svg"])
    assert drawing.read_text() == "of the code before"  # up to date
    if maker == "_code_digest":
        monkeypatch.setattr(writer, "_code_digest", lambda folder: "other code")
    else:
        monkeypatch.setattr(writer.matplotlib, "__version__", "0.1")
    build(figure, smoke_results, tmp_path, ["svg"])
    assert drawing.read_bytes() == old


def test_the_code_of_a_figure_is_all_that_it_is_made_from(tmp_path, monkeypatch):
    files = [
        "paper_figures/aepo/x.py", "paper_figures/aepo/numbers.toml", "paper_figures/style.mplstyle",
        "paper_figures/figure.py", "entropy_theory/policy.py", "entropy_theory/update_rules/grpo.py",
        "simulations/experiments/x.py",
    ]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    monkeypatch.setattr(writer, "ROOM", tmp_path / "paper_figures")
    digest = writer._code_digest.__wrapped__
    before = digest(tmp_path / "paper_figures" / "aepo")
    for file in files:
        (tmp_path / file).write_text("1")
        assert digest(tmp_path / "paper_figures" / "aepo") != before, file
        (tmp_path / file).write_text("")


def small(name, **changes):
    """A table that reads nothing."""
    table = Table(title="T", header=("rule", "H^2 & more"), rows=(("a_b", "$x_1$ 5 %"),), origin="ours")
    figure = PaperFigure(
        name=name, source="This project", title="t", paper="", ours="",
        data=lambda results: (inputs.theory(), pandas.DataFrame({"x": [1.0]}))[1],
        finding=lambda table: Finding(standing="our own"),
        tables=lambda frame: [table],
    )
    return dataclasses.replace(figure, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "error", "text"), [
    (0.5, 0.04, "0.50 ± 0.04"), (99.8, 0.004, "99.80 ± <0.01"), (0.5, 0.0051, "0.50 ± 0.01"),
    (5.0, 1e-15, "5.00"), (0.0, 0.0, "0.00"), (0.5, float("nan"), "0.50")])
def test_a_number_is_not_said_to_be_certain(value, error, text):
    """"± 0.00"."""
    assert estimate(value, error, digits=2) == text


@pytest.mark.parametrize("file", [
    "runs/x/run.json", "runs/x/provenance.json", "runs/x/audit/kernel-00001.npz", "evaluations/x.json",
    "simulations/x.nc",
])
def test_what_comes_changes_or_goes_is_read_again(file, tmp_path):
    """A figure of yesterday's runs that passes for up to date."""
    with inputs.reading(tmp_path) as read:
        inputs.training_runs(tmp_path)
        inputs.evaluations(tmp_path)
        with pytest.raises(MissingInputError):
            inputs.simulation(tmp_path, "x")
    before = dict(read.digests)
    assert inputs.unchanged(before, tmp_path)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("1")
    assert not inputs.unchanged(before, tmp_path)
    path.unlink()
    assert inputs.unchanged(before, tmp_path)


def test_a_table_is_written_for_papers_and_for_pages(tmp_path):
    """Special characters that break LaTeX or Markdown; formulas that get escaped."""
    build(small("t"), tmp_path, tmp_path)
    assert not (tmp_path / "t.svg").exists()
    assert "| a_b  |  $x_1$ 5 % |" in (tmp_path / "t.md").read_text()
    latex = (tmp_path / "t.tex").read_text()
    assert r"rule & H\^{}2 \& more \\" in latex
    assert r"a\_b & $x_1$ 5 \% \\" in latex
    assert json.loads((tmp_path / "t.json").read_text())["tables"][0]["origin"] == "ours"


def test_a_figure_that_fails_leaves_the_others(tmp_path, monkeypatch, capsys):
    """One broken LaTeX string that stops the whole build."""

    def broken(table):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().set_title(r"$\frac{1}$")
        return figure

    def absent(results):
        raise MissingInputError("run `x`")

    figures = {f.name: f for f in (small("bad", draw=broken), small("no", data=absent), small("good"))}
    monkeypatch.setattr(catalog, "FIGURES", figures)
    assert command.build(output=tmp_path) == 1
    errors = capsys.readouterr().err
    assert "bad: failed: ValueError" in errors
    assert errors.splitlines()[-1].startswith("1 of 3 failed: bad (ValueError")
    index = json.loads((tmp_path / "figures" / "index.json").read_text())
    assert index["drawn"] == ["good"]
    assert index["missing"] == {"no": "run `x`"}
    assert set(index["failed"]) == {"bad"}
    assert not list((tmp_path / "figures").glob("bad.*"))


def test_a_named_build_brings_its_own_entries_of_the_index_up_to_date(tmp_path, monkeypatch):
    """A repaired figure that still stands as failed; others' entries lost."""

    def broken(table):
        raise ValueError("no finding")

    def absent(results):
        raise MissingInputError("run `x`")

    def index():
        return json.loads((tmp_path / "figures" / "index.json").read_text())  # type: ignore[no-any-return]

    def use(*figures):
        monkeypatch.setattr(catalog, "FIGURES", {f.name: f for f in figures})
        monkeypatch.setattr(command, "catalogued", lambda: [
            Listed(name=f.name, source=f.source, title=f.title) for f in figures])

    bad, no, good = small("bad", finding=broken), small("no", data=absent), small("good")
    use(bad, no, good)
    assert command.build(output=tmp_path) == 1
    use(small("bad"), no, good)
    assert command.build(("bad",), output=tmp_path) == 0
    assert index() == {"drawn": ["bad", "good"], "missing": {"no": "run `x`"}, "failed": {}}
    (tmp_path / "figures" / "good.json").unlink()  # else it is up to date, and kept
    use(small("bad"), no, small("good", finding=broken))
    assert command.build(("good", "no"), output=tmp_path) == 1
    assert index() == {"drawn": ["bad"], "missing": {"no": "run `x`"},
                       "failed": {"good": "ValueError: no finding"}}
