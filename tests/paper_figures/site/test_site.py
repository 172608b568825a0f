"""The documentation, built from a small selection: links lead somewhere, nothing comes from outside."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from html import unescape
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from unittest import mock
from urllib.parse import unquote

import numpy as np
import pandas
import pytest
from packaging.requirements import Requirement

from entropy_theory.support.results import write_json
from entropy_theory.update_rules import RULES, described
from entropy_theory.verification.verdict import FAILED
from paper_figures.catalog import FIGURES
from paper_figures.figure import build as build_figure
from paper_figures.site import (
    building,
    docstrings,
    figures,
    found,
    logged,
    loss_map,
    loss_pictures,
    markup,
    notebooks,
    pages,
    rules,
)
from paper_figures.site import claims as claim_pages
from paper_figures.site.__main__ import DOCUMENTED as CLAIMS
from paper_figures.site.__main__ import LINKED_FIGURES
from paper_figures.site.mathematics import formula

pytest.importorskip("sphinx", reason="needs sphinx: pip install '.[docs]'")
ROOT = Path(__file__).parents[3]
OUTSIDE = r"https://(arxiv\.org/abs/\d{4}\.\d{5}|www\.sphinx-doc\.org/|pradyunsg\.me|github\.com/pradyunsg/furo)"
"""The addresses that pages may lead to: papers, and those of the theme's foot."""


class Links(HTMLParser):
    """The links, sources and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.found.append((tag, value))
            if name == "id" and value:
                self.anchors.add(value)


def links_of(path: Path) -> Links:
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


HEADINGS = """---
orphan: true
---
# Each heading stands in the contents, too
Set first on the page: $x + y = z$.
## The law $R = b - a e^{H}$
## A length $\\frac{1}{|o|}$ and $\\pi_\\theta$
"""


MAPPED = ("aepo", "reinforce", "grpo", "dppo", "cispo", "entropy-bonus", "reference-kl", "steer")


@pytest.fixture(scope="module")
def site(tmp_path_factory, simulated):
    results = tmp_path_factory.mktemp("results")
    build_figure(FIGURES["aepo-figure-2"], simulated("aepo_figure_2"), results / "figures", ("svg",))
    selection = pages.some(CLAIMS, (*LINKED_FIGURES, "aepo-table-1"), MAPPED,
                           ("entropy_theory.performance_law.law", "entropy_theory.policy",
                            "entropy_theory.targets", "entropy_theory.token_batch"))
    folder = tmp_path_factory.mktemp("site")
    pages.write(selection, results, folder / "source")
    (folder / "source" / "formulas.md").write_text(HEADINGS)
    return building.build(folder / "source", folder / "docs", jobs=2).parent


def test_every_internal_link_leads_to_a_page_and_a_place(site):
    """Sphinx checks its own references; links in raw HTML and to files are checked by nobody else."""
    every = {path: links_of(path) for path in site.rglob("*.html")}
    assert len(every) > 40
    broken = []
    for path, links in every.items():
        for _, target in links.found:
            address, _, anchor = target.partition("#")
            if "://" in address or address.startswith(("mailto:", "data:")):
                continue
            aim = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            known = every[aim].anchors if aim in every else set()
            place = "panel" if "=" in anchor else unquote(anchor)  # a state leads to the live panel
            if not aim.exists() or (place and known and place not in known):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert not broken, "\n".join(broken)


FORMULA = re.compile(r'<math alttext="([^"]*)">.*?</math>', re.DOTALL)


def test_every_formula_is_set_from_its_source(site):
    """In a page's contents letters of other formulas stood, as glyphs were named anew there."""
    in_contents = 0
    for path in (site / "formulas.html", site / "claims" / "aepo.theorem-4.3b.html"):
        text = path.read_text(encoding="utf-8")
        for one in FORMULA.finditer(text):
            assert one[0] == formula(unescape(one[1])), path.name
        contents = text.partition('<div class="toc-tree">')[2].partition("</aside>")[0]
        in_contents += len(FORMULA.findall(contents))
    assert in_contents == 3


def test_no_formula_is_left_as_source(site):
    """Text that a reader sees, titles included, holds no formula between dollar signs."""
    for path in site.rglob("*.html"):
        seen = re.sub(r"<(script|style|code|pre)\b.*?</\1>", "", path.read_text(encoding="utf-8"),
                      flags=re.DOTALL)
        seen = unescape(re.sub(r"<[^>]*>", " ", seen))
        left = re.search(r".{0,40}\$[^$]{1,60}\$.{0,40}", seen)
        assert left is None, f"{path.relative_to(site)}: {left[0]}"


def test_a_search_shows_titles_without_latex(site):
    """The title of a result was "at most \\log|A^*|"."""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    titles = json.loads(index[index.index("{") : index.rindex("}") + 1])["alltitles"]
    assert not [title for title in titles if "\\" in title or "$" in title]
    assert "A length 1/|o| and π_θ" in titles


def test_nothing_is_fetched_from_outside(site):
    """Nothing here can see whether a page elsewhere is there (`make links` asks), but that its address
    is one of those whose form is known."""
    for path in site.rglob("*.html"):
        for tag, target in links_of(path).found:
            if "://" in target:
                assert tag == "a", f"{path}: <{tag}> {target}"
                assert re.fullmatch(OUTSIDE, target), f"{path}: {target}"
    for path in site.rglob("*.css"):
        assert "url(http" not in path.read_text(encoding="utf-8")


def test_a_claims_page_holds_what_the_ledger_and_the_kernel_say(site):
    page = (site / "claims" / "aepo.high-temperature-raises.html").read_text()
    for said in ("true with a hypothesis", "weights=(1,2) correct={2} temperature=2", "sig_forall_dec",
                 "entropy_theory/claims/aepo/high_temperature_raises.py",
                 "figures/aepo-figure-2.html", "<math"):
        assert said in page, said


def test_a_rules_page_has_every_option_with_its_meaning():
    for name, kind in RULES.items():
        shown = described.options(kind)
        assert all(option.meaning for option in shown), (name, shown)
        assert rules.effect(kind)
    target = described.Option(name="target", kind="float", default="0.5",
                              meaning="Mean token entropy to hold, nats.")
    assert target in described.options(RULES["aepo"])
    page = rules.pages(["natural-gradient"])["rules/natural-gradient"]
    assert "does not run under verl" in page


def test_what_is_said_to_hold_is_not_what_was_refuted():
    """A refuted claim without a repair opens the first result."""
    claims = pages.everything().claims
    records = claim_pages.records(claims)
    refuted = [claim.statement for name, claim in claims.items()
               if records[name]["verdict"] in FAILED]
    first = claims[found.RESULTS[0].claims[0]]
    assert first.statement in refuted
    assert not first.repair
    for result in found.RESULTS:
        claim = found.holding(result, claims, records)
        assert (claim.repair or claim.statement) not in refuted


def test_every_figure_shows_a_claim_and_is_linked_from_it(tmp_path):
    """A figure that no claim stands behind; an id that is none; a link that leads one way only; a result
    in "What we found" whose figures do not know its claims."""
    everything = pages.everything()
    assert {i for figure in FIGURES.values() for i in figure.claims} <= everything.claims.keys()
    written = pages.write(pages.some(tuple(everything.claims), everything.figures, (), ()),
                          tmp_path / "results", tmp_path / "source")
    text = {name: path.read_text() for name, path in written.items()}
    for name in FIGURES:
        shown = figures.claims_of(name, everything.claims)
        assert shown, f"{name} shows no claim: name some in its PaperFigure(claims=...)"
        for result in found.RESULTS:
            assert name not in result.figures or set(result.claims) <= set(shown)
        for claim_id, claim in everything.claims.items():
            there = markup.link(claim.title, markup.claim_page(claim_id)) in text[f"figures/{name}"]
            back = f"(/figures/{name}.md)" in text[f"claims/{claim_id}"]
            assert there == back == (claim_id in shown), (name, claim_id)


@pytest.mark.parametrize(("latex", "made"), [
    (r"\tilde S_a", '<msub><mover accent="true"><mi>S</mi><mo stretchy="false">~</mo></mover>'),
    (r"\pi\log\pi", '<mi>π</mi><mspace width="0.1667em"></mspace><mi>log</mi>'),
    (r"r \operatorname{Var} u", '<mi>r</mi><mspace width="0.1667em"></mspace><mi mathvariant='),
    (r"x \le \log n", "<mo>≤</mo><mi>log</mi>"),
    (r"\mathit{most} \, x", '>most</mi><mspace width="0.3em"></mspace><mi>x</mi>'),
    (r"\mathit{beta}", "<mi>β</mi>"),
])
def test_a_formula_is_set_as_tex_sets_it(latex, made):
    """An index below the letter and its accent; names that run together."""
    assert made in formula(latex)


def test_marks_beside_a_formula_stay_on_its_line(site):
    """A line that began with a comma; a word before a formula without its space."""
    page = (site / "claims" / "aepo.theorem-4.3b.html").read_text(encoding="utf-8")
    assert re.search(r"</math>,</span> ", page)
    assert not re.search(r'[\w,;:]<span class="math">', page)
    assert not re.search(r"</math></span>[.,;:)]", page)


def test_the_reference_has_one_heading_a_module_and_no_line_that_says_nothing(site):
    """A heading twice; *Bases: object*; *Alias for field number 0*; hyphens in place of a dash."""
    for name in ("performance_law", "policy", "token_batch"):
        page = (site / "reference" / f"entropy_theory.{name}.html").read_text(encoding="utf-8")
        headings = re.findall(r"<h[12]>([\w.]+)<", page)
        assert headings, name
        assert len(headings) == len(set(headings)), name
        for words in (">object</span></code></p>", "Alias for field number", "</strong> -- ", "mailto:"):
            assert words not in page, (name, words)
    assert "</strong> – " in page


def test_commands_of_a_docstring_stand_a_line_each():
    lines = ["Diagnoses.", "", "examples:", "  diagnose a", "  diagnose b --score c", "", "Args:"]
    docstrings._with_commands_as_lines(None, "function", "", None, None, lines)
    assert lines == ["Diagnoses.", "", "Examples:", "    .. code-block:: bash", "", "        diagnose a",
                     "        diagnose b --score c", "", "Args:"]


def test_a_fault_ends_the_build(tmp_path):
    """A formula that cannot be set, or a link to nowhere, must not become a page with a hole."""
    shutil.copytree(pages.WRITTEN / "static", tmp_path / "source" / "static")
    for name in ("conf.py", "search.js"):
        shutil.copy(pages.WRITTEN / name, tmp_path / "source")
    (tmp_path / "source" / "index.md").write_text("# A page\n\n{math}`\\nosuchcommand`\n")
    with pytest.raises(ValueError, match="Sphinx found faults"):
        building.build(tmp_path / "source", tmp_path / "docs")


def test_a_full_disk_is_no_fault_of_the_pages(tmp_path, monkeypatch, capfd):
    """Sphinx ends with 1 there, too, and was told to have found faults."""
    said = "Extension error!\nOSError: [Errno 28] No space left on device\n"
    monkeypatch.setattr(building.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(
        command, 1, stderr=said))
    with pytest.raises(OSError, match=r"cannot write .*docs \(No space left .*: free some space or"):
        building.build(tmp_path / "source", tmp_path / "docs")
    assert capfd.readouterr().err == said



@pytest.mark.parametrize(("source", "expected"), [
    ("|A*| and a_b <x> [1]", r"\|A\*\| and a\_b \<x\> \[1\]"),
    ("*so* `x_y` and $a*b$", "*so* `` x_y `` and {math}`a*b`"),
    (r"the rate :math:`\pi_a` of `x`", r"the rate {math}`\pi_a` of `` x ``"),
])
def test_prose_means_itself(source, expected):
    assert markup.text(source) == expected


def test_the_formulas_of_docstrings_are_set_on_their_pages_and_in_the_map(site):
    """A formula in letters and underscores; one that is cut off at the line's end."""
    for name, latex in (("rules/aepo", r"T = T_\text{low} + (T_\text{high} - T_\text{low})\, \mathbf{1}"),
                        ("rules/index", r"J = E\, \frac1G \sum_i \frac{1}{|o_i|} \sum_t \min\bigl(r A,"),
                        ("claims/aepo.theorem-4.3b", r"F(T) = -\sum_{A^*} \pi^T_a \operatorname{Cov}"),
                        ("reference/entropy_theory.performance_law", r"R = b - a\, e^H&quot;>")):
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert f'<math alttext="{latex}'.replace("&quot;", '"') in page, name


def test_code_in_a_docstring_leads_to_what_it_names(site):
    page = (site / "reference" / "entropy_theory.performance_law.html").read_text(encoding="utf-8")
    assert 'href="#entropy_theory.performance_law.law.rivals"' in page
    page = (site / "rules" / "aepo.html").read_text(encoding="utf-8")
    assert "../claims/aepo.theorem-4.3b.html" in page


def test_a_notebook_shows_what_was_kept_of_it_as_it_is_now(tmp_path, monkeypatch):
    """Outputs of another notebook's text, or of other code; a drawing that no file holds."""
    file = tmp_path / "a.ipynb"
    cells = [{"cell_type": "markdown", "source": ["# A"]}, {"cell_type": "code", "source": ["f()"]}]
    write_json(file, {"cells": cells})
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    ran = mock.Mock(return_value=[[{"output_type": "stream", "text": "0.693 nats"},
                                   {"data": {"image/svg+xml": "<svg/>", "text/plain": "a figure"}}]])
    monkeypatch.setattr(notebooks, "_run", ran)
    kept = tmp_path / "kept"
    notebooks.execute(kept)
    notebooks.execute(kept)
    assert ran.call_count == 1
    outputs = notebooks.kept(kept)
    page = notebooks.pages(outputs)["notebooks/a"]
    (name, drawing), = notebooks.pictures(outputs).items()
    assert drawing == b"<svg/>"
    assert page.index("f()") < page.index("0.693 nats") < page.index(name)
    assert "a figure" not in page
    write_json(file, {"cells": cells[:1]})
    assert notebooks.kept(kept) == {}
    assert "without its outputs" in notebooks.pages({})["notebooks/a"]


@pytest.mark.deep
def test_the_reference_does_without_what_only_tests_need():
    """Where the documentation is made with its extra alone, pytest and the like are not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = {Requirement(line).name for line in project["optional-dependencies"]["dev"]}
    absent = [module for module, brought_by in metadata.packages_distributions().items()
              if (tools - {"policy-entropy"}) & set(brought_by)]
    assert {"pytest", "beartype", "peft"} <= set(absent)
    made = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.modules |= dict.fromkeys({absent!r})\n"
         "from paper_figures.site import pages, reference\n"
         "written = reference.pages(pages.everything().modules)\n"
         "print(*(name for name, page in written.items() if 'was not installed where' in page))"],
        capture_output=True, text=True)
    assert not made.returncode, made.stderr
    assert made.stdout.split() == [
        "reference/entropy_theory.pytest_plugin", "reference/llm_bridge.verl_second_batch",
        "reference/llm_bridge.verl_worker"]


@pytest.fixture
def opened(opened, site):
    """``opened(name, address, **options of the context)``: a page of the site."""
    return functools.partial(opened, site)


def test_pages_open_from_disk_without_an_error(opened):
    options = {"viewport": {"width": 390, "height": 900}, "color_scheme": "dark"}
    for name in ("index", "claims/aepo.theorem-4.3b", "claims/index", "papers/aepo", "rules/aepo",
                 "figures/aepo-figure-2", "bandit", "run", "commands"):
        page = opened(name, **options)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
    opened("search", "?q=tempered", **options).wait_for_selector("ul.search li a")


def test_names_break_behind_their_marks_alone(opened):
    """On a phone ``ent|ropy``; in a heading, ``(`` at the end of a line."""
    page = opened("claims/aepo.theorem-4.3b", viewport={"width": 390, "height": 900})
    names = "article code > .pre, article h1, article summary"
    broken = page.eval_on_selector_all(names, """all => all.flatMap(
        one => [...one.childNodes].filter(part => part.nodeType === 3).map(part => {
            const range = document.createRange();
            range.selectNodeContents(part);
            return [part.textContent, new Set([...range.getClientRects()].map(box => box.top)).size];
        })).filter(([words, lines]) => lines > 1 && !/[ -]/.test(words)).map(([words]) => words)""")
    assert not broken
    assert page.eval_on_selector_all("article code wbr", "all => all.length") > 10
    assert not page.eval_on_selector_all("pre wbr", "all => all.length")
    page = opened("rules/grpo", viewport={"width": 390, "height": 900})
    assert page.eval_on_selector(
        "table.options", "table => table.scrollWidth - table.parentElement.clientWidth") <= 0


def test_what_goes_on_beyond_an_edge_is_shaded_there(opened):
    """On a phone a reader took the first columns of a table for the whole."""
    for name in ("claims/aepo.theorem-4.3b", "how_to/fit_a_law"):
        page = opened(name, viewport={"width": 390, "height": 900})
        cut = page.eval_on_selector_all("article *", """all => all
            .map(one => [one, getComputedStyle(one)])
            .filter(([one, style]) => /auto|scroll/.test(style.overflowX)
                && one.scrollWidth > one.clientWidth + 1)
            .map(([one, style]) => [one.outerHTML.slice(0, 80), style.backgroundImage])""")
        assert cut, name
        assert not [start for start, shades in cut if shades.count("linear-gradient") != 4], name


def test_code_wraps_and_printed_output_keeps_its_lines(opened):
    """On a phone half of a line of Python was beyond an edge. A printed table has columns to keep."""
    page = opened("how_to/fit_a_law", viewport={"width": 390, "height": 900})
    blocks = page.eval_on_selector_all("article .highlight pre", """all => all.map(one => [
        one.closest("[class*=highlight-]").className.split(" ")[0].slice("highlight-".length),
        one.scrollWidth > one.clientWidth + 1])""")
    assert {"python", "bash", "console"} <= {language for language, _ in blocks}
    assert {language for language, cut in blocks if cut} == {"console"}


def test_code_is_set_in_colours_that_can_be_read(opened):
    """Strings had 3.3 times the light of their ground, where WCAG asks for 4.5."""
    light = re.compile(r"[\d.]+")

    def brightness(color):
        parts = [float(part) / 255 for part in light.findall(color)[:3]]
        red, green, blue = (x / 12.92 if x <= 0.04 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.05 + 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for scheme in ("light", "dark"):
        page = opened("how_to/fit_a_law", color_scheme=scheme)
        ground = page.locator(".highlight").first.evaluate("e => getComputedStyle(e).backgroundColor")
        colors = page.eval_on_selector_all(
            ".highlight-python span[class]", "all => all.map(one => getComputedStyle(one).color)")
        assert len(set(colors)) > 3
        for color in set(colors):
            ratio = brightness(color) / brightness(ground)
            assert max(ratio, 1 / ratio) >= 4.5, (scheme, color)


def test_a_figure_has_code_notebook_and_data_to_download(site):
    links = [target for tag, target in links_of(site / "figures" / "aepo-figure-2.html").found]
    kept = {Path(link).name: site / "figures" / link for link in links if "_downloads" in link}
    code = "figure_2_tempered_reinforce.py"
    assert {code, "aepo-figure-2.ipynb", "aepo-figure-2.csv.gz"} <= kept.keys()
    assert len(pandas.read_csv(kept["aepo-figure-2.csv.gz"])) > 10
    assert (site / "_images" / "aepo-figure-2-panel.png").exists()
    cells = json.loads(figures.notebook("aepo-theorem-4-3"))["cells"]
    lines = [line for cell in cells for line in cell["source"].splitlines() if line[:1] not in "%#"]
    exec("\n".join(lines), ran := {})  # what a kernel would run but for its own commands
    assert ran["drawing"].axes


def test_what_an_attribute_says_is_not_taken_for_its_type(site):
    """"Findings of a policy that its steps have ruined: ..." stood as a type, up to the colon."""
    for path in (site / "reference").glob("*.html"):
        assert '">Type' not in path.read_text(encoding="utf-8")


def test_signatures_are_set_and_hold_no_objects(site):
    """``= <factory>`` is no Python, so that types stood with their marks; tables stood in headings."""
    for name in ("token_batch", "targets"):
        page = (site / "reference" / f"entropy_theory.{name}.html").read_text(encoding="utf-8")
        heads = re.findall(r'<dt class="sig.*?</dt>', page, re.DOTALL)
        assert heads
        assert not [head for head in heads if "~" in head or "&lt;" in head]


def test_filters_show_what_fits_and_say_how_many(opened):
    """A filter that hides the wrong rows, or whose effect a screen reader never hears of."""
    page = opened("claims/index")
    rows = page.locator("table.filterable").first.locator("tbody tr:visible")
    every = rows.count()
    page.get_by_label("verdict").select_option("fails as we read it")
    assert 0 < rows.count() < every
    assert all("fails as we read it" in text for text in rows.all_inner_texts())
    assert page.get_by_role("status").inner_text() == f"{rows.count()} of {every}"
    page.get_by_label("verdict").select_option("")
    page.get_by_label("source").select_option("aepo")
    page.get_by_label("Words to find").fill("THEOREM 4.3")
    assert rows.count() == 1
    gallery = opened("figures/index")
    cards = gallery.locator(".gallery > *:visible")
    assert cards.count() == 3
    gallery.get_by_label("Words to find").fill("no such words")
    assert cards.count() == 0
    assert gallery.locator("h2:visible").count() == 1  # of the table of verdicts
    gallery.get_by_label("Words to find").fill("temperature-controlled")
    assert cards.count() == 1


def test_the_map_of_losses_is_filtered_by_what_its_cells_list(opened):
    """A choice that hides the wrong rules, or that takes a part of a value for the whole."""
    page = opened("rules/index")
    rows = page.locator("table.losses tbody tr:visible")
    assert rows.count() == len(MAPPED)

    def names():
        return [row.split()[0] for row in rows.all_inner_texts()]

    page.get_by_label("first order").select_option("policy gradient")
    assert names() == ["reinforce", "grpo", "dppo", "cispo"]
    page.get_by_label("first order").select_option("policy gradient and entropy gradient")
    assert names() == ["entropy-bonus"]
    page.get_by_label("engines").select_option("areal")
    assert names() == []
    page.get_by_label("first order").select_option("")
    assert names() == ["grpo"]
    page.get_by_label("engines").select_option("")
    page.get_by_label("costs").select_option("entropy of each token")
    assert names() == ["entropy-bonus", "steer"]
    assert opened("bandit", "#rules=dppo").get_by_label("Rule 1").input_value() == "dppo"


@pytest.mark.parametrize("name", ["bandit", "figures/aepo-figure-2", "claims/aepo.theorem-4.3b"])
def test_a_live_view_lives(name, opened):
    """A panel whose scripts were left behind, or that the page's own search takes for a place."""
    page = opened(name)
    says = page.locator("#panel .says").first
    assert says.is_visible()
    before = says.inner_text()
    page.locator("#panel #step").click()
    page.wait_for_function("before => document.querySelector('.says').innerText !== before", arg=before)
    page.wait_for_function("location.hash.includes('at=')")
    page.locator(".elsewhere").click()
    page.wait_for_url(re.compile("bandit.html#"))
    assert page.locator(".complaint").is_hidden()


def test_a_picture_of_a_loss_is_its_rule_s_coefficient():
    """Clipped above 1.2 and below 0.8 by the sign of the advantage; a curve of both for SAPO."""
    ratios = np.array([0.5, 1.0, 1.1, 1.5])
    before = np.full(4, loss_pictures.BEFORE)
    up, down = loss_pictures.coefficients(RULES["grpo"](), before * ratios, before)
    assert np.allclose(up, [0.5, 1.0, 1.1, 0.0])
    assert np.allclose(down, [0.0, -1.0, -1.1, -1.5])
    assert loss_pictures.picture(RULES["sapo"]()).count("<polyline") == 4
    assert not loss_pictures.picture(RULES["natural-gradient"]())


def test_the_map_of_losses_leads_to_claims():
    on = {name: loss_map.claims_on(name) for name in RULES}
    judged = {claim for found in on.values() for claim in found if claim.startswith("later-work.")}
    assert judged >= {f"later-work.{name}" for name in (
        "quantile-baseline", "steer", "repo", "repo-rescaled", "entropic", "stare", "stare-reweighting",
        "ce-gppo-classes", "ratio-band", "unlikeliness", "dppo-binary", "dppo-bound", "lp-reg",
        "top-entropy", "scope-rl-negatives", "clip-low-high", "entrocraft")}
    assert "extension.loss-on-policy" in on["sapo"]
    assert "extension.loss-binary-rewards" in on["difficulty"]
    page = rules.pages(["steer"])["rules/index"]
    assert "`` later-work.steer ``" in page
    assert "another direction" in rules.pages(["steer"])["rules/steer"]


def test_the_map_of_losses_names_engines_whose_own_function_was_compared():
    page = rules.pages(["sapo", "aepo"])["rules/index"]
    row = page[page.index("[sapo]"):page.index("[aepo]")]
    assert {"trl", "verl", "areal"} <= set(re.findall(r"\w+", row.split("\n  - ")[-1]))


def test_every_metric_that_is_logged_has_words():
    """A new metric without words; words on one that is gone."""
    said = [name for metrics in logged.written().values() for name in metrics]
    assert sorted(said) == sorted(logged.names())
    pages = logged.pages({"hold_an_entropy"})
    contents = pages.pop("logged")
    assert len(pages) == len(said)
    for name, page in pages.items():
        assert f"](/{name}.md)" in contents
        assert f"\n{name}\n" in contents
        assert "how_to/verl" not in page
    assert "[hold an entropy](/hold_an_entropy.md)" in pages["metrics/coefficient"]
