"""The report in a real browser: headless Chromium, driven by Playwright; nothing is downloaded."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entropy_theory import entropy_change, policy, tabular, update_rules
from entropy_theory.update_rules import UpdateRule
from entropy_theory.verification import ledger
from tests.paper_figures.conftest import ON_THE_PAGE

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[dev]'")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for path in map(shutil.which, BROWSERS) if path), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium")

SAME = 1e-12
"""The panel's promise, nats (relative where numbers are above 1). A step adds a few dozen roundings, of
1e-16 each; the paths below take 40 steps of a map that stretches differences by less than 1.25, the
entries of a step's Jacobian being at most 1/4 and the learning rate 1/2: by 8,000 in all."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Callable[..., Any]]:
    """``opened(anchor="", **context options)``: the page in a fresh window; no test may leave an error
    on its console or a request but for the file."""
    contexts, troubles = [], []

    def on_request(request: Any) -> None:
        if not request.url.startswith(("data:", page_file.as_uri())):
            troubles.append(f"asked for {request.url[:200]}")

    def open_page(anchor: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options}))
        contexts[-1].set_default_timeout(10_000)
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", on_request)
        page.goto(page_file.as_uri() + anchor)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def at_rest(browser: Any, page_file: Path) -> Any:
    """The page, for tests that only compute with its functions."""
    page = browser.new_page()
    page.goto(page_file.as_uri())
    return page


def shown(page: Any) -> set[str]:
    return set(page.eval_on_selector_all(
        ".claims details", "all => all.filter(d => d.checkVisibility()).map(d => d.id)"))


def test_every_picture_and_formula_of_the_page_is_drawn(
    opened: Callable[..., Any]
) -> None:
    """A drawing that did not survive its way into the page; LaTeX that cannot be set."""
    page = opened()
    widths = page.eval_on_selector_all(
        "img", "async all => { for (const i of all) { i.loading = 'eager'; await i.decode(); } "
        "return all.map(i => i.naturalWidth) }")
    assert len(widths) == len(ON_THE_PAGE)
    assert min(widths) > 300
    assert page.locator("#broken").count() == 0
    assert page.evaluate("() => document.querySelectorAll('use').length") > 1000
    assert page.evaluate(
        "() => [...document.querySelectorAll('use')].every("
        "u => document.getElementById(u.getAttribute('href').slice(1)))")
    # What a result file might smuggle in, the page's own policy keeps from the network.
    allowed = page.locator("meta[http-equiv]").get_attribute("content")
    assert re.fullmatch(
        r"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-\S+'", allowed)


def test_filters_and_search_show_what_fits_and_say_how_many(opened: Callable[..., Any]) -> None:
    """A filter that hides the wrong ones, or whose effect a screen reader never hears of."""
    page, accepted = opened(), ledger.read_accepted()
    assert shown(page) == set(accepted)
    page.get_by_label("Verdict", exact=True).select_option("true with a hypothesis")
    page.get_by_label("Source", exact=True).select_option("aepo")
    wanted = {i for i, c in accepted.items()
              if c["verdict"] == "true with a hypothesis" and i.startswith("aepo.")}
    assert shown(page) == wanted
    count = page.get_by_role("status").filter(has_text="statements")
    assert count.inner_text() == f"{len(wanted)} of {len(accepted)} statements"
    page.get_by_label("Printed proof", exact=True).select_option("none")
    assert shown(page) == {i for i in wanted if accepted[i]["printed_proof"] == "none"}
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("n => document.querySelector('#count').textContent === `${n} statements`",
                           arg=len(accepted))
    # In the statement's LaTeX, which the page shows as a picture.
    page.get_by_label("Search", exact=True).fill(r"LEMMA-4.1 \pi^{T'}")
    assert shown(page) == {"aepo.lemma-4.1"}
    page.get_by_label("Search", exact=True).fill("no such words")
    assert page.get_by_text("No statement fits").is_visible()
    # The table above leads to the statements that it counts.
    cell = page.get_by_role("button", name=re.compile(r"Show \d+ proved, AEnt"))
    cell.click()
    page.wait_for_function("() => document.querySelector('#nothing').hidden")
    wanted = {i for i, c in accepted.items() if c["verdict"] == "proved" and i.startswith("aent.")}
    assert shown(page) == wanted
    assert cell.inner_text() == str(len(wanted))


def test_a_link_to_a_statement_opens_it_and_keys_fold_it(opened: Callable[..., Any]) -> None:
    """A link that leads to a folded or filtered line; a fold that only a mouse opens."""
    page = opened("#aepo.theorem-4.3b")
    claim = page.locator("[id='aepo.theorem-4.3b']")
    assert claim.get_by_text("(reading aid)").first.is_visible()
    page.get_by_label("Verdict", exact=True).select_option("refuted")
    assert not claim.is_visible()
    page.evaluate("() => { location.hash = '#aepo.lemma-4.1' }")
    page.wait_for_function("() => document.getElementById('aepo.lemma-4.1').checkVisibility()")
    other = page.locator("[id='aepo.lemma-4.1'] > summary")
    other.focus()
    assert page.locator("[id='aepo.lemma-4.1'] .statement svg").first.is_visible()
    page.keyboard.press("Enter")
    assert not page.locator("[id='aepo.lemma-4.1'] .statement").first.is_visible()
    page.get_by_role("button", name="Open all").click()
    assert claim.get_by_text("(reading aid)").first.is_visible()


def bandits(rng: np.random.Generator) -> list[dict[str, list]]:
    """Plain, tied and saturated policies of 2 to 8 actions."""
    made = []
    for n in range(2, 9):
        plain = rng.normal(scale=2, size=n)
        for logits in (plain, np.round(plain), 10 * plain):
            correct = rng.random(n) < 0.5
            correct[rng.integers(n)] = True
            made.append({"logits": logits.tolist(), "correct": correct.tolist()})
    return made


def test_the_panel_computes_what_entropy_theory_computes(at_rest: Any) -> None:
    """A second implementation that drifts away from the first."""
    cases, temperatures = bandits(np.random.default_rng(0)), [0.1, 0.7, 1.0, 1.2, 3.0]
    found = at_rest.evaluate(
        """([cases, temperatures]) => cases.map(({logits, correct}) => ({
            tempered: temperatures.map(t => bandit.softmax(logits, t)),
            entropy: temperatures.map(t => bandit.entropy(logits, t)),
            gradient: bandit.entropyGradient(logits),
            rates: bandit.temperedRates(logits, correct, temperatures),
            crossing: bandit.signChangeTemperature(logits, correct),
            steps: temperatures.map(t => bandit.temperedStep(logits, correct, t)),
        }))""", [cases, temperatures])
    at = np.array(temperatures)
    for case, js in zip(cases, found, strict=True):
        z, right = np.array(case["logits"]), np.array(case["correct"])
        rows = np.broadcast_to(z, (len(at), len(z)))
        for name, expected in (
            ("tempered", policy.softmax(rows, at)),
            ("gradient", policy.entropy_gradient(z)),
            ("rates", entropy_change.tempered_reinforce_rate(rows, right, at)),
            ("steps", entropy_change.tempered_reinforce_step(rows, right, at)),
        ):
            np.testing.assert_allclose(js[name], expected, rtol=SAME, atol=SAME, err_msg=name)
        # With every digit, at collapse too.
        np.testing.assert_allclose(js["entropy"], policy.entropy(rows, at), rtol=SAME)
        np.testing.assert_allclose(
            js["crossing"], entropy_change.sign_change_temperature(z, right), rtol=1e-9)


RULES: dict[str, UpdateRule] = {
    "policy-gradient": update_rules.get("reinforce"),
    "entropy-bonus": update_rules.get("entropy-bonus", base="reinforce", coefficient=0.1),
    "aepo": update_rules.get("aepo", base="reinforce", target=0.6, alpha=1.0),
}
SETTINGS = {"temperature": 1.7, "coefficient": 0.1, "target": 0.6, "alpha": 1.0,
            "temperatureHigh": 1.2, "temperatureLow": 0.8}


@pytest.mark.parametrize("name", ["tempered", *RULES])
def test_the_panel_follows_the_update_rules(name: str, at_rest: Any) -> None:
    """Paths of another rule than the simulator and the trainer run under this name."""
    rng = np.random.default_rng(1)
    z = rng.normal(scale=1.5, size=(6, 1, 5))
    right = np.broadcast_to(np.array([False, True, True, False, False]), z.shape)
    found = at_rest.evaluate(
        "([name, starts, correct, settings]) => starts.map(z => "
        "bandit.entropyPath(name, z, correct, settings, 40, 0.5))",
        [name, z[:, 0].tolist(), right[0, 0].tolist(), SETTINGS])
    for k in range(41):
        level = policy.entropy(z)[:, 0]
        np.testing.assert_allclose([path[k] for path in found], level, rtol=0, atol=SAME)
        if name == "tempered":
            z = z + entropy_change.tempered_reinforce_step(z, right, SETTINGS["temperature"], 0.5)
            continue
        rule = RULES[name]
        control = rule.controller()
        batch = tabular.exact_batch(
            z, 1.0 * right, temperature=None if control is None else control.observe(level))
        z = z + 0.5 * tabular.logit_step(z, batch, rule)


PANEL = """async () => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const all = (selector, of) => [...document.querySelectorAll(selector)].map(of);
  return {
    logits: all(".action input[type=range]", e => e.valueAsNumber),
    right: all(".action input[type=checkbox]", e => e.checked),
    readout: Object.fromEntries(all(".readout div", e => [e.children[0].textContent,
      e.children[1].textContent.replace("\u2212", "-")])),
    curves: all("#path-chart .series", e => e.getAttribute("points")),
  };
}"""


def checked_panel(page: Any) -> dict[str, Any]:
    """What the panel shows, once drawn; its numbers are those of its sliders and boxes."""
    found = page.evaluate(PANEL)
    z, right, numbers = np.array(found["logits"]), np.array(found["right"]), found["readout"]
    crossing = float(entropy_change.sign_change_temperature(z, right))
    expected = "none" if math.isnan(crossing) else "∞" if math.isinf(crossing) else f"{crossing:.2f}"
    assert numbers["T₀"] == expected
    assert numbers["Entropy H"] == f"{float(policy.entropy(z)):.2f} nats"
    assert numbers["log |A*|"] == f"{math.log(right.sum()):.2f} nats"
    rate = float(entropy_change.tempered_reinforce_rate(z, right, 1.0))
    assert float(numbers["F(1)"]) == pytest.approx(rate, rel=0.05, abs=1e-9)  # two digits are shown
    return found


def test_a_reader_drags_the_logits_and_marks_right_answers(opened: Callable[..., Any]) -> None:
    """Numbers or curves of another bandit than the sliders show; a slider wired to another rule."""
    page = opened()
    before = checked_panel(page)
    slider = page.get_by_label("Action 2, logit")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    dragged = checked_panel(page)
    assert dragged["logits"][1] > 2.5
    assert len(dragged["curves"]) == 4
    assert all(new != old for new, old in zip(dragged["curves"], before["curves"], strict=True))
    slider.press("ArrowLeft")
    last = checked_panel(page)
    assert last["logits"][1] == pytest.approx(dragged["logits"][1] - 0.1)
    for label, moved in (
        ("Temperature of tempered REINFORCE", 1), ("Coefficient of the entropy bonus", 2),
        ("Target entropy of AEPO, nats", 3),
    ):
        page.get_by_label(label, exact=True).press("ArrowRight")
        found = checked_panel(page)
        assert [i for i in range(4) if found["curves"][i] != last["curves"][i]] == [moved], label
        last = found


def test_a_reader_changes_the_actions_and_takes_examples(opened: Callable[..., Any]) -> None:
    """A panel that breaks at its edges: no right answer, one, all, a uniform policy."""
    page = opened()
    page.get_by_label("Action 1 is right").press("Space")
    page.get_by_role("button", name="+ action").click()
    found = checked_panel(page)
    assert found["right"] == [False, True, True, False, False, False, False]
    for name in ("One right answer", "Rare right answers", "All answers right", "Uniform"):
        page.get_by_role("button", name=name).click()
        checked_panel(page)
    page.get_by_label("Action 1 is right").uncheck()
    # Without a right action nothing is reinforced: the last box stays.
    page.get_by_label("Action 2 is right").click()
    assert checked_panel(page)["right"] == [False, True, False, False, False, False]
    page.locator("#verdict", has_text="No temperature").wait_for()
    for _ in range(4):
        page.get_by_role("button", name="− action").click()
    assert page.get_by_role("button", name="− action").is_disabled()
    assert len(checked_panel(page)["logits"]) == 2


# Text whose contrast with what is behind it is under 4.5 (WCAG AA). Pictures of formulas are text too.
LOW_CONTRAST = """() => {
  const channel = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const behind = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!words && !e.matches("svg.formula")) continue;
    if (!e.checkVisibility() || e.closest(":disabled") || e.matches("script, style, option")) continue;
    const style = getComputedStyle(e);
    const color = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) found.push(e.outerHTML.slice(0, 120));
  }
  return [...new Set(found)];
}"""


def test_it_fits_a_phone_and_can_be_read_in_both_schemes(opened: Callable[..., Any]) -> None:
    """A page that scrolls sideways on a phone, or grey on grey in the dark."""
    page = opened(viewport={"width": 390, "height": 844})
    backgrounds = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        backgrounds.append(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(LOW_CONTRAST) == [], scheme
    assert backgrounds[0] != backgrounds[1]
    page.evaluate("() => document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_tab_reaches_everything_with_a_name_and_a_visible_focus(opened: Callable[..., Any]) -> None:
    """A control that only a mouse finds, that a screen reader cannot name, or whose focus is unseen."""
    page = opened()
    nameless = page.eval_on_selector_all(
        "input, select, button, [role=region], #panel svg[role=img], img",
        "all => all.filter(e => !(e.getAttribute('aria-label') || e.alt || e.textContent.trim() || "
        "(e.labels && e.labels[0]?.textContent.trim()))).map(e => e.outerHTML.slice(0, 99))")
    assert nameless == []
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the summary"
    reached = []
    for _ in range(90):
        reached.append(page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e); return "
            "[e.name || e.id || e.getAttribute('aria-label') || e.tagName, parseFloat(s.outlineWidth), "
            "s.outlineStyle] }"))
        if reached[-1][0] == "expand":
            break
        page.keyboard.press("Tab")
    names = {name for name, *_ in reached}
    assert {"Action 1, logit", "Action 1 is right"} <= names
    assert {"words", "source", "verdict", "proof", "expand"} <= names
    assert all(width >= 2 and style != "none" for _, width, style in reached)


def test_print_unfolds_what_is_shown_and_folds_it_again(opened: Callable[..., Any]) -> None:
    """Paper full of closed folds, or a page that stays unfolded after printing."""
    page = opened()
    page.get_by_label("Search", exact=True).fill("aepo.theorem")
    fits = shown(page)
    page.evaluate("() => addEventListener('beforeprint', () => { window.unfolded = "
                  "[...document.querySelectorAll('.claims details[open]')].map(d => d.id) })")
    printed = page.pdf(format="A4")
    assert set(page.evaluate("() => window.unfolded")) == fits
    assert page.locator(".claims details[open]").count() == 0
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 3
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation").is_visible()
    assert not page.get_by_role("search").is_visible()
