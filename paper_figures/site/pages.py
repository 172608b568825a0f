"""The source of the site: hand-written pages of docs/ and generated ones, in one folder for Sphinx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from entropy_theory.claims import all_claims
from entropy_theory.support.user_errors import lookup
from entropy_theory.update_rules import RULES
from entropy_theory.verification.claim import Claim
from paper_figures.catalog import FIGURES
from paper_figures.site import (
    bandit,
    claims,
    figures,
    found,
    logged,
    markup,
    notebooks,
    papers,
    records,
    reference,
    rules,
    run,
    search,
)

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs"
AT_THE_TOP = {"CHANGELOG.md": "changelog.md", "CITATION.cff": "CITATION.cff",
              "CONTRIBUTING.md": "contributing.md"}
"""Files of the repository's root, and their names in the source of the site."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What gets pages: claims, figures, rules and modules, by name."""

    claims: Mapping[str, Claim]
    figures: tuple[str, ...]
    rules: tuple[str, ...]
    modules: tuple[str, ...]


def everything() -> Selection:
    """Return the selection of all there is."""
    return Selection(claims=all_claims(), figures=tuple(FIGURES), rules=tuple(RULES),
                     modules=tuple(reference.modules()))


def some(claim_ids: Sequence[str], figure_names: Sequence[str], rule_names: Sequence[str],
         modules: Sequence[str]) -> Selection:
    """Return a selection for a quick look.

    Raises:
        ValueError: an unknown claim, figure, rule or module (the nearest names are given).
    """
    known, described = all_claims(), {name: name for name in reference.modules()}
    return Selection(
        claims={i: lookup(known, i, "claim") for i in claim_ids},
        figures=tuple(name for name in figure_names if lookup(FIGURES, name, "figure")),
        rules=tuple(name for name in rule_names if lookup(RULES, name, "update rule")),
        modules=tuple(lookup(described, name, "module") for name in modules),
    )


def write(selection: Selection, results: Path, source: Path) -> dict[str, Path]:
    """Write the source of the site; a page that is the same keeps its time, and old ones go.

    Args:
        selection: what gets pages.
        results: folder with figures/, ledger.json and notebooks/, as far as they were computed.
        source: folder for the source.

    Returns:
        The files of all pages, by name.
    """
    shown = [f for f in records.figures(results) if f["name"] in selection.figures]
    outputs = notebooks.kept(results / "notebooks")
    shows = {f["name"]: figures.claims_of(f["name"], selection.claims) for f in shown}
    figures_of = {claim_id: [f for f in shown if claim_id in shows[f["name"]]]
                  for claim_id in selection.claims}
    generated = {
        **claims.pages(selection.claims, figures_of, results),
        **papers.pages(selection.claims, shown),
        **rules.pages(selection.rules, results),
        **figures.pages(records.by_source(shown), selection.claims, results,
                        source / "pictures"),
        **notebooks.pages(outputs),
        **reference.pages(selection.modules),
        "found": found.page(selection.claims, shown),
        "bandit": bandit.page(selection.claims),
        "run": run.page(results, records.read_result(results / "reproduce.json")),
    }
    by_hand = {path.relative_to(WRITTEN).with_suffix("").as_posix() for path in WRITTEN.rglob("*.md")}
    generated |= logged.pages(generated.keys() | by_hand)
    contents = {source / f"{name}.md": page.encode() for name, page in generated.items()}
    contents |= {source / path.relative_to(WRITTEN): path.read_bytes()
                 for path in WRITTEN.rglob("*") if path.is_file()}
    contents |= {source / "notebooks" / name: drawing
                 for name, drawing in notebooks.pictures(outputs).items()}
    contents |= {source / "static" / name: content for name, content in bandit.files().items()}
    contents |= {source / name: (ROOT / path).read_bytes() for path, name in AT_THE_TOP.items()}
    contents |= {source / "code" / name: (ROOT / name).read_bytes() for page in generated.values()
                 for name in markup.LINKED_FILE.findall(page)}
    called = search.names(selection.claims, shown, selection.rules)
    contents |= {path: search.indexed(
        markup.linked(content.decode(), selection.claims),
        called.get(path.relative_to(source).with_suffix("").as_posix(), ())).encode()
        for path, content in contents.items() if path.suffix == ".md"}
    for old in source.rglob("*"):
        if old.is_file() and old not in contents and old.parent != source / "pictures":
            old.unlink()
    contents[source / "pictures" / "front.svg"] = figures.front()
    for path, content in contents.items():
        if not (path.exists() and path.read_bytes() == content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    _drop_pictures(source / "pictures", shown)
    return {path.relative_to(source).with_suffix("").as_posix(): path
            for path in contents if path.suffix == ".md"}


def _drop_pictures(folder: Path, shown: Sequence[Mapping[str, object]]) -> None:
    """Delete the files of figures that there are no longer."""
    made = {"front", *(f["name"] for f in shown)}
    for path in folder.iterdir():
        if path.name.split(".")[0].removesuffix("-panel") not in made:
            path.unlink()
