"""The whole site as ``make docs`` made it: a search answers, and pages stay small.

``make test-site`` runs this on build/docs; ``make deep`` on the site of the main job, with all figures.
``pytest -rP`` shows the rank of each query and the sizes of pages and site.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from paper_figures.site import pages, search

BUILD = Path(__file__).parents[3] / "build"
SITE = next((path for path in (BUILD / "docs", BUILD / "report") if path.is_dir()), BUILD / "docs")
needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="make docs makes the site")
PAGE_MEGABYTES, SITE_MEGABYTES = 1.0, 40.0
FIRST = 3

QUERIES = {
    "Theorem 4.3": {"claims/aepo.theorem-4.3b", "claims/aepo.theorem-4.3a", "claims/aepo.theorem-4.3"},
    "AEPO Figure 1": {"figures/aepo-figure-1"},
    "entropy collapse": {"how_to/diagnose"},
    "temperature": {"figures/aepo-theorem-4-3"},
    "clip-cov": {"rules/clip-cov"},
    "pass@k": {"how_to/evaluate"},
    "holds a target": {"hold_an_entropy"},
    "GRPO": {"rules/grpo"},
    "kl penalty": {"rules/reference-kl"},
    "verl": {"how_to/verl"},
    "SkyRL": {"how_to/skyrl"},
    "TRL": {"how_to/trl"},
    "learning rate": {"metrics/learning-rate"},
    "clipped_fraction": {"metrics/clipped-fraction"},
    "install": {"install"},
    "citation": {"cite"},
    "diagnose": {"how_to/diagnose"},
    "my run's entropy collapses": {"how_to/diagnose"},
    "entropy bonus": {"rules/entropy-bonus"},
    "kl-cov": {"rules/kl-cov"},
    "AEnt Lemma 6": {"claims/aent.lemma-6"},
    "Cui et al.": {"papers/entropy-mechanism"},
    "Entropy Mechanism Figure 8": {"figures/entropy-mechanism-figure-8"},
    "covariance": {"claims/entropy-mechanism.lemma-1-state"},
    "performance law": {"how_to/fit_a_law"},
    "translate a recipe": {"how_to/translate"},
    "audit": {"how_to/read_an_audit"},
    "custom reward": {"how_to/reward"},
    "multi-GPU": {"how_to/several_gpus"},
    "FSDP": {"how_to/several_gpus"},
    "hyperparameters": {"how_to/sweep"},
    "counterexample": {"how_to/claim"},
    "entropy explosion": {"why_entropy_grows"},
    "why does entropy grow": {"why_entropy_grows"},
    "DAPO": {"rules/clip-higher"},
    "Rocq": {"proofs"},
    "notebooks": {"notebooks/index"},
    "metrics": {"logged"},
    "wandb": {"logged", "how_to/diagnose"},
    "target entropy": {"hold_an_entropy"},
    "GRPOConfig": {"trl_options"},
    "command line": {"commands"},
    "aepo.theorem-4.3b": {"claims/aepo.theorem-4.3b"},
    "natural policy gradient": {"rules/natural-gradient"},
    "2505.22617": {"papers/entropy-mechanism"},
    "bandit": {"bandit"},
    "speed": {"benchmarks"},
    "API": {"reference/index"},
    "entropy drops to zero": {"how_to/diagnose"},
    "vllm mismatch": {"rules/sampler-correction"},
    "importance sampling correction": {"rules/sampler-correction"},
    "length bias": {"claims/aepo.length-factors", "figures/response-length"},
    "leave one out": {"rules/reinforce", "rules/grpo"},
    "release": {"maintaining"},
    "contribute a rule": {"contributing", "how_to/rule"},
}
"""What a reader types, and the pages that answer."""


@needs_site
def test_a_search_has_the_page_that_answers_among_its_first(browser):
    """"Theorem 4.3" had 188 hits, Theorem 4.3 the 177th; no page had an excerpt."""
    assert len(QUERIES) >= 37
    missed, ranks = [], []
    page = browser.new_page()
    for query, answers in QUERIES.items():
        page.goto(f"{(SITE / 'search.html').as_uri()}?q={quote(query)}")
        page.wait_for_function(  # each result takes a while, and some queries have hundreds
            f"document.querySelectorAll('ul.search > li').length >= {FIRST}"
            " || document.querySelector('.search-summary')?.innerText")
        found = page.eval_on_selector_all("ul.search > li", (
            "items => items.map(i => [i.querySelector('a').getAttribute('href'), i.innerText])"))
        first = [(href.partition(".html")[0], words) for href, words in found[:FIRST]]
        ranks.append(next((place for place, (name, _) in enumerate(first, 1) if name in answers), None))
        print(f"{ranks[-1] or 'later':>5} {query}")
        if ranks[-1] is None:
            missed.append(f"{query}: {[name for name, _ in first]}")
        assert all(words.count("\n") for _, words in first), f"{query}: no excerpt in {first}"
    places = ", ".join(f"{ranks.count(place)} at place {place}" for place in range(1, FIRST + 1))
    print(f"of {len(QUERIES)} queries {places}, {len(missed)} later")
    assert not missed, "\n".join(missed)


@needs_site
def test_pages_and_the_whole_stay_small():
    sizes = {path.relative_to(SITE).as_posix(): path.stat().st_size / 1e6
             for path in SITE.rglob("*") if path.is_file()}
    largest = sorted((name for name in sizes if name.endswith(".html")), key=sizes.__getitem__)[::-1]
    print(f"{sum(sizes.values()):.1f} MB, {len(sizes)} files, {len(largest)} of them pages; the largest:")
    print(*(f"{sizes[name]:6.2f} MB {name}" for name in largest[:10]), sep="\n")
    large = {name: size for name, size in sizes.items()
             if size > PAGE_MEGABYTES and name.endswith(".html") and name != "figures/index.html"}
    assert not large
    assert 1 < sum(sizes.values()) < SITE_MEGABYTES


@pytest.mark.deep
def test_words_of_a_reader_lead_to_pages_that_there_are(tmp_path):
    """A page that was renamed, and keeps its words under the old name."""
    everything = pages.everything()
    written = pages.write(everything, tmp_path / "results", tmp_path / "source")
    assert search.names({}, (), ()).keys() <= written.keys()
