"""Figures and tables as the site shows them: what `build` wrote, as text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from entropy_theory.support.results import read_json
from paper_figures.catalog import FIGURES
from paper_figures.figure import PaperFigure

SOURCES = {
    "Cui et al.": "The Entropy Mechanism of RL for Reasoning Language Models (Cui et al.)",
    "AEPO": "Arbitrary Entropy Policy Optimization (AEPO)",
    "AEnt": "On Entropy Control in LLM-RL Algorithms (AEnt)",
    "This project": "Beyond the papers, ours",
}
"""The headings of figures, by the part of their source before the comma."""
SHOWN = ("verdicts", "headline", "evidence", "drawn_from")
"""What of a figure's record is shown as it stands."""
RECORDED = {*SHOWN, "criteria", "data_sha256"}
"""The keys of a figure's record (`paper_figures.figure.build`)."""


def figures(results: Path) -> list[dict[str, Any]]:
    """Return a record for each figure of the catalog; ``problem`` says why there is nothing to show."""
    index = read_result(results / "figures" / "index.json") or {}
    return [_figure(figure, results / "figures", index) for figure in FIGURES.values()]


def read_result(path: Path) -> Any:
    """Return a JSON file's content, or None where there is none that can be read."""
    try:
        return read_json(path)
    except ValueError:
        return None


def by_source(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group figures under the headings of the gallery."""
    keys = dict.fromkeys(_key(figure["source"]) for figure in shown)
    return [
        {"title": SOURCES.get(key, key), "figures": [f for f in shown if _key(f["source"]) == key]}
        for key in keys
    ]


def _key(source: str) -> str:
    return source.split(",")[0]


def _figure(figure: PaperFigure, folder: Path, index: dict[str, Any]) -> dict[str, Any]:
    name = figure.name
    entry: dict[str, Any] = {
        "name": name, "source": figure.source, "title": figure.title, "paper": figure.paper,
        "place": figure.place, "ours": figure.ours, "evidence": (), "problem": "",
        "verdicts": [{"verdict": "not made yet", "says": "not made yet"}], "made": False,
        "headline": "", "criteria": [], "met": "", "label": _label(figure),
        "rerun": _rerun(figure, ()),
    }
    if name in index.get("failed", {}):
        return entry | {"problem": f"It could not be made: {index['failed'][name]}"}
    record = read_result(folder / f"{name}.json")
    drawing = folder / f"{name}.svg"
    command = f"run `python -m paper_figures build {name}`"
    if record is not None and not record.keys() >= RECORDED:
        return entry | {"problem": f"Made by another version of this package: {command}"}
    if record is None or (figure.draw and not drawing.exists()):
        return entry | {"problem": f"Not made yet: {index.get('missing', {}).get(name, command)}"}
    inputs = record.get("inputs", {})
    return entry | {
        **{key: record[key] for key in SHOWN},
        "made": True,
        "criteria": [_criterion(one) for one in record["criteria"]],
        "met": _count(record["criteria"]),
        "tables": record.get("tables", ()),
        "digest": record["data_sha256"],
        "inputs": [(key, _origin(value)) for key, value in inputs.items()],
        "rerun": _rerun(figure, inputs),
    }


def _count(criteria: list[dict[str, Any]]) -> str:
    """Return what the criteria that decide came to, as text; "" where there is none."""
    counts = Counter(one["outcome"] for one in criteria if not one["beyond"])
    return f"Criteria: {', '.join(f'{n} {outcome}' for outcome, n in counts.items())}." if counts else ""


def _criterion(record: dict[str, Any]) -> dict[str, Any]:
    """Return a criterion with its numbers as text."""
    low, value, high = ("none" if record[key] is None else f"{record[key]:.3g}"
                        for key in ("low", "value", "high"))
    seeds = f", {record['seeds']} seeds" if record["seeds"] else ""
    between = f" ({low} to {high}{seeds})" if low != high else ""
    reported = "" if record["reported"] is None else f" (the paper: {record['reported']:.3g})"
    return {**record, "value": value + between,
            "asked": f"{record['relation']} {record['threshold']:.3g}{reported}"}


def _label(figure: PaperFigure) -> str:
    """Return a figure's name in a list of all figures."""
    return figure.title if figure.source.startswith("This project") else figure.source


def _rerun(figure: PaperFigure, inputs: Any) -> list[str]:
    """Return what computes a figure's numbers anew: its simulations; then recipes at the paper's size, or
    else for one GPU."""
    paper = [recipe for recipe in figure.recipes if recipe.startswith("paper/")]
    simulations = [
        f"python -m simulations run {Path(name).stem.replace('_', '-')}"
        for name in inputs if name.startswith("simulations/")
    ]
    return [*simulations, *(paper or figure.recipes)]


def _origin(provenance: Any) -> str:
    """Write the provenance on one line."""
    if not isinstance(provenance, dict):
        return str(provenance)
    commit = str(provenance.get("commit") or "unknown commit")[:12]
    seed = provenance.get("seed")
    parts = [f"commit {commit}", str(provenance.get("device", "")),
             "" if seed is None else f"seed {seed}", str(provenance.get("created", ""))]
    return ", ".join(part for part in parts if part)
