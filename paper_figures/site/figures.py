"""A page for each figure and table, and the gallery of all of them."""

from __future__ import annotations

import functools
import gzip
import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from entropy_theory.verification.claim import Claim
from paper_figures.aepo import theorem_4_3_sign_map
from paper_figures.catalog import FIGURES
from paper_figures.drawing.style import style
from paper_figures.reproduce.stages import SIMULATIONS
from paper_figures.site.bandit import live
from paper_figures.site.claims import badges, opposed, records
from paper_figures.site.found import RESULTS
from paper_figures.site.ledger import SOURCES
from paper_figures.site.markup import (
    badge,
    claim_page,
    documented,
    fenced,
    figure_page,
    link,
    module_docstring,
    orphan,
    places,
    source,
    table,
    text,
)
from paper_figures.verdict import RULE, STANDINGS, Verdict

CLAIM_ID = re.compile(r"\b[a-z]+(?:-[a-z]+)*\.[a-z0-9][a-z0-9.-]*[a-z0-9]\b")
PAPERS = {"aepo": "AEPO", "entropy-mechanism": "Cui et al.", "aent": "AEnt"}
"""How claims and figures of one paper begin: the claims' ids, and the figures' sources."""


def _rounded(drawing: bytes) -> bytes:
    """Return an SVG with places to the hundredth of a point; matplotlib writes them to the millionth."""
    return re.sub(rb'(?<= d=")[^"]*|(?<= [xy]=")[^"]*', lambda found: b" ".join(re.sub(
        rb"(\.\d\d)\d+", rb"\1", found[0]).split()), drawing)


FILES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    ".svg": (".svg", _rounded), "-panel.png": ("-panel.png", bytes),
    ".csv": (".csv.gz", functools.partial(gzip.compress, mtime=0))}
"""What of a figure's files the site has: their ends there, and what makes them small."""


def claims_of(name: str, claims: Mapping[str, Claim]) -> list[str]:
    """Return the claims that a figure shows; the links of both their pages follow from it.

    They are the figure's own claims, the claims beside which it stands in "What we found", and the claims
    that its words name. Words name a claim by its id, or by a place in the same paper. Places are
    theorems, tables and the like that both the claim's source and the figure name.
    """
    figure = FIGURES[name]
    words = "\n".join((
        figure.source, figure.title, figure.paper, figure.ours, module_docstring(figure.file)))
    ids = {*figure.claims, *(i for result in RESULTS if name in result.figures for i in result.claims),
           *CLAIM_ID.findall(words)}
    named = set(places(words))
    paper = next((p for p, start in PAPERS.items() if figure.source.startswith(start)), None)
    return [
        i for i, claim in claims.items()
        if i in ids or (i.split(".")[0] == paper and named & set(places(claim.source)))
    ]


def pages(
    groups: Sequence[Mapping[str, Any]], claims: Mapping[str, Claim], results: Path, pictures: Path
) -> dict[str, str]:
    """Return the pages of figures and the gallery, by name; drawings are copied.

    Args:
        groups: what `records.by_source` says of the figures of each source.
        claims: the claims that have a page.
        results: folder with figures/, as far as they were made.
        pictures: folder of the site's source for the drawings.
    """
    made: dict[str, list[str]] = {}
    kept: dict[bytes, str] = {}  # two figures may draw one table
    shown = [figure for group in groups for figure in group["figures"]]
    for figure in shown:
        name = figure["name"]
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / f"{name}.ipynb").write_text(notebook(name), encoding="utf-8")
        made[name] = []
        for end, (shown_end, packed) in FILES.items():
            file = results / "figures" / f"{name}{end}"
            if figure["made"] and file.exists():
                content = packed(file.read_bytes())
                made[name].append(kept.setdefault(content, f"{name}{shown_end}"))
                (pictures / made[name][-1]).write_bytes(content)
    written = {
        figure_page(f["name"]): orphan(_page(f, claims_of(f["name"], claims), claims, made[f["name"]]))
        for f in shown
    }
    return {**written, "figures/index": _gallery(groups, made)}


def front() -> bytes:
    """Return the picture of the first page."""
    with io.BytesIO() as drawn, style():
        theorem_4_3_sign_map.front().savefig(drawn, format="svg", metadata={"Date": None})
        return drawn.getvalue()


def _paper(source: str) -> str:
    """Return a link to the page of the paper that a figure is from; "" for our own."""
    prefix = next((p for p, start in PAPERS.items() if source.startswith(start)), None)
    return "" if prefix is None else link(SOURCES[prefix][1], f"papers/{prefix}")


def _gallery(groups: Sequence[Mapping[str, Any]], made: Mapping[str, Sequence[str]]) -> str:
    parts = ["# Gallery", "",
             "Every figure and table, redrawn from what was computed here, with what the paper finds and "
             "what we find. A verdict follows from the plotted numbers by criteria that stand on the "
             "figure's page, and names the model that they are from. None of the papers' own models was "
             "trained: what is not seen here is not refuted there.", "", *_by_verdict(groups)]
    for group in groups:
        parts += [f"## {text(group['title'])}", "", ":::::{container} gallery"]
        for figure in group["figures"]:
            name = figure["name"]
            picture = (f"```{{image}} /pictures/{name}-panel.png\n:alt: {figure['title']}\n"
                       f":target: {name}.html\n```" if f"{name}-panel.png" in made[name] else "")
            parts += ["::::{container} card", picture, "", link(figure["label"], figure_page(name)),
                      badges(figure), "",
                      *([text(figure["title"]), ""] if figure["title"] != figure["label"] else []),
                      *_findings(figure),
                      *([_criteria(figure)] if figure["criteria"] and not figure["headline"] else []),
                      *([] if figure["problem"] else [f"[contest this]({name}.md#contest-this)"]), "::::"]
        parts += [":::::", ""]
    return "\n".join(parts)


def _findings(figure: Mapping[str, Any]) -> list[str]:
    """Return the paper's finding with its place, and ours, as paragraphs; each where there is one."""
    paper = f"**The paper** ({text(figure['place'])}): {text(figure['paper'])}" if figure["place"] else ""
    ours = f"**Ours**: {text(figure['headline'])}" if figure["headline"] else ""
    return [line for paragraph in (paper, ours) if paragraph for line in (paragraph, "")]


def _by_verdict(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of the papers' figures by verdict: what we saw, and what we could not see."""
    found: dict[str, list[str]] = {}
    for figure in (figure for group in groups for figure in group["figures"]):
        for one in figure["verdicts"]:
            if one["verdict"] in get_args(Verdict):
                found.setdefault(one["says"], []).append(
                    link(figure["label"], figure_page(figure["name"])))
    order = [*get_args(Verdict)]
    rows = [(badge(said.partition(":")[0], said), str(len(names)), ", ".join(names))
            for said, names in sorted(found.items(), key=lambda item: (
                order.index(item[0].partition(":")[0]), item[0]))]
    return ["## What we saw, and what we could not see at our scale", "",
            table(("verdict", "figures", "which"), rows, (3, 1, 6)), ""] if rows else []


def _criteria(figure: Mapping[str, Any]) -> str:
    return table(
        ("criterion", "setting", "model", "ours", "asked", "outcome"),
        [(text(one["says"]), text(one["where"] or "all"), text(one["model"]), text(one["value"]),
          text(one["asked"]), badge(one["outcome"]) + (" beyond the paper" if one["beyond"] else ""))
         for one in figure["criteria"]],
        (5, 3, 2, 2, 2, 2))


def _contest(figure: Mapping[str, Any], source_link: str) -> list[str]:
    """Return what somebody needs who doubts the verdict: command, data, criteria, and where to write."""
    name = figure["name"]
    return [
        "## Contest this", "",
        "A criterion may be wrong, a setting not the paper's, or a number not come out. Each can be "
        "shown with the following.", "",
        *(f"- `{command}`" for command in (*_simulations(figure), _command(name), *_recipes(figure))),
        f"- numbers: `figures/{name}.csv`, with digest `{figure['digest'][:16]}`; criteria and verdicts: "
        f"`figures/{name}.json`",
        f"- criteria in code: {source_link}, function `finding`; the rule: `paper_figures/verdict.py`",
        "- what to send: the criterion, what it should be, and the page of the paper that says so",
        "",
    ]


def _page(
    figure: Mapping[str, Any], about: Sequence[str], claims: Mapping[str, Claim], files: Sequence[str]
) -> str:
    name, found = figure["name"], records(claims)
    has_picture = f"{name}.svg" in files
    file = FIGURES[name].file
    facts = [
        ("verdict", badges(figure)),
        ("drawn from", text(", ".join(figure["evidence"]))),
        ("paper's page", _paper(figure["source"])),
        ("statements", "\n\n".join(stated(claims[i], found[i]["verdict"], figure) for i in about)),
        ("stage", text(_stages(name))),
        ("make it, and the simulations that it lacks", f"`{_command(name)}`"),
        ("run it at more size", "\n\n".join(f"`{command}`" for command in _recipes(figure))),
        ("download", ", ".join([
            f"code {source(file)}", f"notebook {{download}}`{name}.ipynb </pictures/{name}.ipynb>`",
            *(f"data {{download}}`{data} </pictures/{data}>`" for data in files if data.endswith("gz")),
        ])),
    ]
    parts = [f"# {text(figure['source'])}: {text(figure['title'])}", "", *_findings(figure)]
    if figure["problem"]:
        parts += [f"{text(figure['problem'])}.", ""]
    else:
        parts += [f"{badges(figure)} {text(figure['met'])}", ""]
        if has_picture:
            parts += [fenced(f":alt: {figure['title']}\n\n{text(figure['ours'])}",
                             f"{{figure}} /pictures/{name}.svg")]
        else:
            parts += [text(figure["ours"]), ""]
        parts += [f"Drawn from {text(figure['drawn_from'])}.", ""]
        for found in figure["tables"]:
            rows = [[text(str(cell)) for cell in row] for row in found["rows"]]
            note = [text(found["note"]), ""] if found["note"] else []
            parts += [f"**{text(found['title'])}** ({text(found['origin'])})", "",
                      table([text(str(c)) for c in found["header"]], rows), *note]
    parts += [*live(figure_page(name)), "## At a glance", "",
              table(("", name), [f for f in facts if f[1]], (1, 5), css="facts")]
    if not figure["problem"]:
        if figure["criteria"]:
            judged = all(one["verdict"] not in STANDINGS for one in figure["verdicts"])
            parts += ["## How the verdict is reached" if judged else "## Criteria of the headline", "",
                      text(RULE) if judged else "", "", _criteria(figure)]
        parts += _contest(figure, source(file))
        parts += ["## Where the data come from", "",
                  table(("input", "provenance"), [(text(k), text(v)) for k, v in figure["inputs"]]),
                  f"Data digest `{figure['digest'][:16]}`.", ""]
    parts += ["## What was done", "", documented(FIGURES[name].module)]
    return "\n".join(parts)


def stated(claim: Claim, verdict: str, figure: Mapping[str, Any]) -> str:
    """Return a statement that a figure shows, and where its verdict is another one, why it may be."""
    note = (f" It is about all that it is asked of: {text(claim.scope)}. The figure counts runs."
            if opposed(verdict, figure) else "")
    return f"{link(claim.title, claim_page(claim.id))} {badge(verdict)}{note}"


def _command(name: str) -> str:
    return f"policy-entropy figures {name}"


def _simulations(figure: Mapping[str, Any]) -> list[str]:
    return [r for r in figure["rerun"] if r.startswith("python")]


def _recipes(figure: Mapping[str, Any]) -> list[str]:
    recipes = [r for r in figure["rerun"] if not r.startswith("python")]
    return [f"policy-entropy train --recipe {recipe}" for recipe in recipes[:3]]


def notebook(name: str) -> str:
    """Return a notebook that computes a figure's numbers, and draws it."""
    draws = FIGURES[name].draw is not None
    cells = (f"# Once, where the simulations that it needs are not there yet:\n# !{_command(name)}",
             "%matplotlib inline\nfrom pathlib import Path\n\nfrom paper_figures.catalog import FIGURES\n"
             f"from paper_figures.drawing.style import style\n\nfigure = FIGURES[\"{name}\"]\n"
             "table = figure.data(Path(\"build\"))\ntable",
             *(["with style():\n    drawing = figure.draw(table)\ndrawing"] if draws else []))
    return json.dumps({
        "cells": [{"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "outputs": [],
                   "execution_count": None, "source": cell} for i, cell in enumerate(cells)],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _stages(name: str) -> str:
    """Return the stages of `reproduce` that compute what the module of a figure's data reads."""
    code = inspect.getsource(sys.modules[FIGURES[name].data.__module__])
    read = set(re.findall(r'simulation\(\s*\w+,\s*"(\w+)"', code))
    return ", ".join(f"simulations {subject} ({', '.join(sorted(read & set(names)))})"
                     for subject, (_, _, names) in SIMULATIONS.items() if read & set(names))
