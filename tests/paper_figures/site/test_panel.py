"""The live panel as a reader uses it, in headless Chromium: address, clock, controls, true sentences."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entropy_theory import entropy_change
from entropy_theory.claims import all_claims
from paper_figures.catalog import FIGURES
from paper_figures.site import bandit
from paper_figures.site.markup import claim_page, figure_page
from simulations.experiments.aepo_figure_1 import _is_held
from tests.paper_figures.site.test_bandit import settings, simulated

TWO_DIGITS = 0.05 * (1 + 1e-6)
"""The most by which a number in two digits is off: half of a tenth, at 1.0, and rounding."""


@pytest.fixture
def opened(opened: Callable[..., Any], page_file: Path) -> Callable[..., Any]:
    """``opened(address)``: the panel's page."""
    return functools.partial(opened, page_file.parent, page_file.stem)


def says(page: Any, view: str) -> str:
    """A view's sentence, once drawn, with plain signs."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(f"[data-view={view}] .says").inner_text().replace("\u2212", "-")


def go(page: Any, address: str) -> None:
    """Set the address as a reader types it; the panel, which listened first, has drawn it by then."""
    page.evaluate("""address => new Promise(done => {
        addEventListener("hashchange", () => done(), {once: true});
        location.hash = address; })""", address)


def test_what_is_said_of_a_step_is_true_at_its_rate(opened: Callable[..., Any]) -> None:
    """First order for the truth: half of these steps have the other sign at the rate shown."""
    rng, cases = np.random.default_rng(5), {True: [], False: []}
    while min(map(len, cases.values())) < 8:
        z, right = np.round(rng.normal(scale=1.5, size=5), 1), rng.random(5) < 0.5
        eta, at = round(rng.uniform(0.5, 3), 2), round(rng.uniform(0.2, 5), 1)
        if np.all(abs(z) <= 5) and right.any():
            change = entropy_change.exact(z, entropy_change.tempered_reinforce_step(z, right, at, eta))
            first = entropy_change.tempered_reinforce_rate(z, right, at)
            cases[bool(change * first < 0)].append((z, right, eta, at, float(change)))
    page, grid = opened("#view=rate"), 0.1 * 100 ** (np.arange(161) / 160)
    for z, right, eta, at, change in cases[True][:8] + cases[False][:8]:
        go(page, f"view=rate&rate={eta}&temperature={at}&logits={','.join(map(str, z))}"
                 f"&right={','.join(map(str, np.flatnonzero(right) + 1))}")
        sentence = says(page, "rate")
        said = re.search(r"changes entropy by (\S+) nats", sentence)
        assert said is not None
        assert float(said[1]) == pytest.approx(change, rel=TWO_DIGITS)
        rows = np.broadcast_to(z, (161, 5))
        steps = entropy_change.tempered_reinforce_step(rows, right, grid, eta)
        signs = np.sign(entropy_change.exact(rows, steps))
        spans = re.findall(r"(falls|rises) from T = (\S+) to ([\d.]+\d)", sentence)
        words = [["falls", "rises"][int(sign > 0)] for k, sign in enumerate(signs)
                 if k == 0 or sign != signs[k - 1]]
        assert [span[0] for span in spans] == words
        ends = [f"{grid[k]:.2f}" for k in range(161) if k == 160 or signs[k] != signs[k + 1]]
        assert [span[2] for span in spans] == ends


def test_what_is_said_of_targets_and_tokens_is_so(opened: Callable[..., Any]) -> None:
    """A target missed below the ceiling that nobody is told of; numbers of another batch."""
    page = opened("#view=paths&rules=aepo&target=1.5&targets=3&alpha=0.2"
                  "&logits=3,1,-1,-2,0,0&right=1,2,3,4")
    z, right = np.array([[[3.0, 1, -1, -2, 0, 0]]]), np.array([[[True] * 4 + [False] * 2]])
    of = settings(np.random.default_rng(0), rate=0.5, steps=2000, group=8, alpha=0.2, high=1.2, low=0.8)
    case = {"logits": z.ravel().tolist(), "correct": right.ravel().tolist()}
    sentence = says(page, "paths")
    missed = re.search(r"misses (.+?), though below log \|A\*\| = 1.39", sentence)
    for target in (0.5, 1.0, 1.5):
        run = simulated("aepo", case, {**of, "target": target})
        if target < math.log(4) and not _is_held(run, np.array([target]))[0]:
            assert missed is not None
            assert f"{target:.2f} (it is at {run.tail_entropy[0]:.2f})" in missed[1]
    assert missed is not None
    assert "1.50 (it is at" in sentence.partition("not below log |A*|")[0].partition("though")[2]
    go(page, "view=tokens&batch=4&rate=1&at=3")
    case = {"logits": [2, 1, 0, 0, -1, -1], "correct": [True] * 3 + [False] * 3}
    of = {**of, "rate": 1, "steps": 3, "batch": 4, "share": 0.4, "lower": 0.1, "upper": 5, "penalty": 1}
    start = simulated("grpo", case, of).final_logits[0, 0]
    number = r"([+-][\d.]+)"
    said = re.search(f"by {number} nats with GRPO, {number} with Clip-Cov and {number} with KL-Cov",
                     says(page, "tokens"))
    assert said is not None
    batch = {"logits": start.tolist(), "correct": case["correct"]}
    for name, change in (("grpo", said[1]), ("kl-cov", said[3])):
        levels = simulated(name, batch, {**of, "steps": 4}).entropy[:, 0]
        assert float(change) == pytest.approx(levels[-1] - levels[0], rel=TWO_DIGITS)


SHOWN = """async () => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const all = (selector, of) => [...document.querySelectorAll(selector)].map(of);
  return {
    logits: all(".action input[type=range]", e => e.valueAsNumber),
    right: all(".action input[type=checkbox]", e => e.checked),
    rules: all(".rules select", e => e.value),
    settings: Object.fromEntries(all(".setting output", e => [e.htmlFor.value.slice(8), e.textContent])),
    at: document.querySelector(".clock output").textContent,
    says: all(".says", e => e.textContent),
    curves: all("[data-view=paths] .ahead", e => e.getAttribute("points")),
  };
}"""


def test_an_address_holds_the_state_and_bad_ones_are_told(opened: Callable[..., Any]) -> None:
    """A state that is lost on reload; a bad value that is taken, or that hides the panel."""
    page = opened()
    page.get_by_label("Action 2, logit").press("ArrowRight")
    page.get_by_label("Action 4 is right").click()
    page.get_by_label("Learning rate").press("ArrowRight")
    page.get_by_label("Rule 2").select_option("dppo")
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_function("location.hash.includes('at=3')")
    before, address = page.evaluate(SHOWN), page.evaluate("location.hash")
    assert (before["logits"][1], before["settings"]["rate"]) == (1.1, "0.55")
    assert before["rules"] == ["grpo", "dppo", "entropy-bonus", "aepo"]
    again = opened(address)
    assert again.evaluate(SHOWN) == before
    assert again.locator(".complaint").is_hidden()
    go(again, "rate=abc&logits=1,2&right=3&foo=1&at=99999&rules=grpo,nothing&<b>=1")
    told = again.locator(".complaint").inner_text()
    for part in ("rate must be a number from 0.05 to 3, got 'abc': 0.5 is shown.",
                 "right must be 1 to 2 of these", "'foo' is no setting", "'<b>' is no setting",
                 "at must be a whole number from 0 to 2000, got '99999': 0", "rules must be 1 to 4"):
        assert part in told
    shown = again.evaluate(SHOWN)
    assert (shown["logits"], shown["right"]) == ([1, 2], [True, True])


def test_play_moves_until_it_is_paused(opened: Callable[..., Any]) -> None:
    page = opened("#steps=300")
    first = page.evaluate(SHOWN)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("parseInt(document.querySelector('.clock output').textContent.slice(5)) > 2")
    page.get_by_role("button", name="Pause").click()
    paused = page.evaluate(SHOWN)
    page.wait_for_timeout(300)
    assert page.evaluate(SHOWN) == paused
    assert paused["curves"] == first["curves"]  # the runs are whole from the start
    assert all(new != old for new, old in zip(paused["says"], first["says"], strict=True))
    assert page.locator(".action .share span").first.evaluate("e => e.style.width") != "0%"


def test_a_reader_drags_the_logits_and_each_setting_moves_its_rule(opened: Callable[..., Any]) -> None:
    """Curves of another bandit than the sliders show; a slider wired to another rule."""
    page = opened()
    before = page.evaluate(SHOWN)
    slider = page.get_by_label("Action 2, logit")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    last = page.evaluate(SHOWN)
    assert last["logits"][1] > 2.5
    assert len(last["curves"]) == 4
    assert all(new != old for new, old in zip(last["curves"], before["curves"], strict=True))
    for name, moved in (("temperature", [1]), ("coefficient", [2]), ("target", [3]), ("alpha", [3]),
                        ("high", [3]), ("group", [0, 2, 3]), ("rate", [0, 1, 2, 3])):
        page.locator(f"#setting-{name}").press("ArrowRight")
        found = page.evaluate(SHOWN)
        assert [i for i in range(4) if found["curves"][i] != last["curves"][i]] == moved, name
        last = found
    page.locator("#setting-targets").press("ArrowRight")
    assert len(page.evaluate(SHOWN)["curves"]) == 5


def test_a_reader_changes_the_actions_and_takes_examples(opened: Callable[..., Any]) -> None:
    """A panel that breaks at its edges: no right answer, one, all, a uniform policy."""
    page = opened()
    page.get_by_label("Action 1 is right").press("Space")
    page.get_by_role("button", name="+ action").click()
    assert page.evaluate(SHOWN)["right"] == [False, True, True, False, False, False, False]
    for name in ("Collapse", "Holding", "AEPO, Figure 1", "Rare right answers", "All answers right",
                 "Clip-Cov", "Uniform"):
        page.get_by_role("button", name=name).click()
        assert "NaN" not in "".join(page.evaluate(SHOWN)["says"])
    page.get_by_label("Action 1 is right").uncheck()
    # Without a right action nothing is reinforced: the last box stays.
    page.get_by_label("Action 2 is right").click()
    assert page.evaluate(SHOWN)["right"] == [False, True, False, False, False, False]
    for _ in range(4):
        page.get_by_role("button", name="− action").click()
    assert page.get_by_role("button", name="− action").is_disabled()
    assert len(page.evaluate(SHOWN)["logits"]) == 2


def test_pages_with_a_live_view_exist_and_their_addresses_are_good(opened: Callable[..., Any]) -> None:
    assert set(bandit.LIVE) <= {*map(figure_page, FIGURES), *map(claim_page, all_claims())}
    page = opened()
    for address in set(bandit.LIVE.values()):
        go(page, address)
        assert page.locator(".complaint").is_hidden(), address
        assert "NaN" not in "".join(page.evaluate(SHOWN)["says"])
    assert 'data-state="view=rate&amp;rules=tempered"' in "".join(bandit.live("claims/aepo.theorem-4.3b"))
    assert bandit.live("claims/aent.lemma-1") == []
