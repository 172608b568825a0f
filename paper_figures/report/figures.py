"""Figures and tables as the report shows them: what `build` wrote, put into the page itself."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
FILES = {"csv": "data (CSV)", "json": "criteria and provenance (JSON)", "svg": "SVG", "pdf": "PDF",
         "png": "PNG", "md": "tables (Markdown)", "tex": "tables (LaTeX)"}
SHOWN = ("verdict", "headline", "evidence", "drawn_from")
"""What of a figure's record is shown as it stands."""
RECORDED = {*SHOWN, "criteria", "numbers", "data_sha256"}
"""What a figure's record has (`paper_figures.figure.build`)."""
GROUPS = {
    "core claim fails": "Findings whose core claim fails here",
    "holds under a condition": "Findings that hold under a condition",
    "holds": "Findings that hold",
    "our own": "What we add",
    "awaits runs": "What awaits runs of ours",
}
"""The groups of headlines in the summary: verdict and heading."""
FEW = 8
"""A group with more headlines than this starts folded, except the first group."""
DECIMALS = re.compile(r"(\.\d\d)\d+")
GEOMETRY = re.compile(r'\b(?:d|points|x|y|cx|cy)="[^"]*"')
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SPACE = re.compile(r"\s+")
SIZE = re.compile(r'<svg\b[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"')
NUMBER = re.compile(r"[-−+<>≤≥~≈ ]*\d[\d,]*(\.\d+)?( ?%|e[-−+]?\d+)?")


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
    """Group figures under the headings of the report."""
    keys = dict.fromkeys(_key(figure["source"]) for figure in shown)
    return [
        {"title": SOURCES.get(key, key), "figures": [f for f in shown if _key(f["source"]) == key]}
        for key in keys
    ]


def summary(shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how many figures have each verdict, and the headlines, the surprising ones first."""
    made = [figure for figure in shown if figure["verdict"]]
    counts = Counter(figure["verdict"] for figure in made)
    order = ("holds", "holds under a condition", "core claim fails", "our own")
    groups: list[dict[str, Any]] = []
    for verdict, title in GROUPS.items():
        found = [f for f in made if f["verdict"] == verdict]
        if found:
            groups.append({"title": title, "figures": found, "open": not groups or len(found) <= FEW})
    return {
        "shown": len(made),
        "counts": [(v, counts[v]) for v in (*order, *sorted({*counts} - {*order})) if counts[v]],
        "groups": groups,
    }


def _key(source: str) -> str:
    return source.split(",")[0]


def _figure(figure: PaperFigure, folder: Path, index: dict[str, Any]) -> dict[str, Any]:
    name = figure.name
    entry: dict[str, Any] = {
        "name": name, "source": figure.source, "title": figure.title, "paper": figure.paper,
        "place": figure.place, "ours": figure.ours, "evidence": (), "problem": "", "verdict": None,
        "headline": "", "criteria": [], "met": "", **_labels(figure),
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
        "criteria": [_criterion(one) for one in record["criteria"]],
        "met": _count(record["criteria"]),
        "image": _image(drawing.read_text(encoding="utf-8")) if figure.draw else None,
        "tables": [
            {**table, "numeric": _numeric(table["rows"])} for table in record.get("tables", ())
        ],
        "digest": record["data_sha256"],
        "numbers": [(key, f"{value:.4g}") for key, value in record["numbers"].items()],
        "inputs": [(key, _origin(value)) for key, value in inputs.items()],
        "rerun": _rerun(figure, inputs),
        "files": [
            {"path": f"figures/{name}.{extension}", "label": label}
            for extension, label in FILES.items() if (folder / f"{name}.{extension}").exists()
        ],
    }


def _count(criteria: list[dict[str, Any]]) -> str:
    """Return how many criteria are met, as text; "" where there is none."""
    return f"Criteria met: {sum(one['met'] for one in criteria)} of {len(criteria)}." if criteria else ""


def _criterion(record: dict[str, Any]) -> dict[str, Any]:
    """Return a criterion with its numbers as text."""
    value = "none" if record["value"] is None else f"{record['value']:.3g}"
    return {**record, "value": value, "asked": f"{record['relation']} {record['threshold']:.3g}"}


def _labels(figure: PaperFigure) -> dict[str, str]:
    """Return a figure's name in a list of all figures, and in a list of those of its source."""
    if figure.source.startswith("This project"):
        return {"label": figure.title, "short": figure.title}
    return {"label": figure.source, "short": figure.source.split(", ", 1)[-1]}


def _rerun(figure: PaperFigure, inputs: Any) -> list[str]:
    """Return what makes a figure at full size: the paper's recipes, else one GPU's, else simulations."""
    paper = [recipe for recipe in figure.recipes if recipe.startswith("paper/")]
    simulations = [
        f"python -m simulations run {Path(name).stem.replace('_', '-')} --profile full"
        for name in inputs if name.startswith("simulations/")
    ]
    return paper or list(figure.recipes) or simulations or [
        f"python -m paper_figures build {figure.name}"
    ]


def _origin(provenance: Any) -> str:
    """Write the provenance on one line."""
    if not isinstance(provenance, dict):
        return str(provenance)
    commit = str(provenance.get("commit") or "unknown commit")[:12]
    seed = provenance.get("seed")
    parts = [f"commit {commit}", str(provenance.get("device", "")),
             "" if seed is None else f"seed {seed}", str(provenance.get("created", ""))]
    return ", ".join(part for part in parts if part)


def _numeric(rows: list[list[str]]) -> list[bool]:
    """Return, for each column, whether its cells are numbers or empty and at least one is a number."""
    return [
        any(NUMBER.match(cell) for cell in column)
        and all(NUMBER.match(cell) or cell.strip() in ("", "–", "-", "—") for cell in column)
        for column in zip(*rows, strict=True)
    ]


def _image(svg: str) -> dict[str, Any]:
    """Return a drawing as an image that needs no file: its source, and its size in CSS pixels."""
    size = SIZE.search(svg)
    width, height = (round(float(value) * 4 / 3) for value in size.groups()) if size else (528, 269)
    # Not in base64, which would be a fifth larger; the markup's quotes must not end the attribute.
    encoded = quote(lighter(svg), safe=" ,:;=/?@!$()*+-.~[]")
    return {"source": f"data:image/svg+xml,{encoded}", "width": width, "height": height}


def lighter(svg: str) -> str:
    """Return a smaller SVG of the same picture, with coordinates to 1/100 point.

    Text must be outlines (style.mplstyle), since white space is squeezed.
    """
    svg = SPACE.sub(" ", COMMENT.sub("", svg))
    return GEOMETRY.sub(lambda match: DECIMALS.sub(r"\1", match[0]), svg)
