"""The bandit to play with in headless Chromium, driven by Playwright; nothing is downloaded."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entropy_theory import entropy_change, policy, tabular, update_rules
from entropy_theory.update_rules import UpdateRule
from paper_figures.site import bandit, traced_rules
from simulations.engine import Dynamics, simulate

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[dev]'")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for path in map(shutil.which, BROWSERS) if path), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium")

SAME = 1e-12
"""The panel's promise, nats (relative where numbers are above 1). A step adds a few dozen roundings, of
1e-16 each; the paths below take 40 steps of a map that stretches differences by less than 1.25, the
entries of a step's Jacobian being at most 1/4 and the learning rate 1/2: by 8,000 in all."""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The panel with its scripts, on a page of its own; the site has it in the site's colors."""
    folder = tmp_path_factory.mktemp("bandit")
    (folder / "_static").mkdir()
    for name, content in bandit.files().items():
        (folder / "_static" / name).write_bytes(content)
    _, _, raw = bandit.page({}).partition("{raw} html\n")
    page = folder / "bandit.html"
    page.write_text(f'<!doctype html>\n<meta charset="utf-8">\n{raw.rpartition("```")[0]}')
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Callable[..., Any]]:
    """``opened()``: the page in a fresh window; no test may leave an error on its console or a request
    but for its files."""
    contexts, troubles = [], []

    def on_request(request: Any) -> None:
        if not request.url.startswith(("data:", page_file.parent.as_uri())):
            troubles.append(f"asked for {request.url[:200]}")

    def open_page() -> Any:
        contexts.append(browser.new_context(viewport={"width": 1200, "height": 900}))
        contexts[-1].set_default_timeout(10_000)
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", on_request)
        page.goto(page_file.as_uri())
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


OFFERED = [name for name in update_rules.RULES if isinstance(traced_rules.function(name), str)]


def test_traced_rules_take_the_steps_of_the_simulator(at_rest: Any) -> None:
    """A rule whose JavaScript, on policy or stale, is not the rule: each one, with 2 to 8 actions."""
    cases = [case for case in bandits(np.random.default_rng(2)) if len(case["logits"]) in (2, 5, 8)]
    found = at_rest.evaluate(
        "([names, cases]) => names.map(name => [1, 4].map(k => cases.map(({logits, correct}) => "
        "bandit.tracedPath(name, logits, correct, 24, 0.5, k))))", [OFFERED, cases])
    for name, of_rule in zip(OFFERED, found, strict=True):
        for per_batch, paths in zip((1, 4), of_rule, strict=True):
            for first in range(0, len(cases), 3):  # those of as many actions, in one simulation
                z, right = (np.array([case[key] for case in cases[first:first + 3]])[:, None]
                            for key in ("logits", "correct"))
                run = simulate(z, right, Dynamics(
                    rule=update_rules.get(name), learning_rate=0.5, steps=24, record_every=1,
                    steps_per_batch=per_batch, engine="numpy"))
                np.testing.assert_allclose(
                    np.transpose(paths[first:first + 3]), run.entropy, rtol=0, atol=SAME, err_msg=name)


def test_rules_are_offered_or_left_out_with_a_reason() -> None:
    assert set(update_rules.RULES) - set(OFFERED) == {"aent", "aepo", "entropic", "natural-gradient"}
    assert "closed loop" in bandit.page({})
    assert "`natural-gradient`: " in bandit.page({})


def test_a_reader_runs_other_rules_side_by_side(opened: Callable[..., Any]) -> None:
    """A choice that draws another rule's curve, or a batch that does not get stale."""
    page = opened()
    before = checked_panel(page)["curves"]
    page.get_by_label("Other rule 1").select_option("dppo")
    page.get_by_label("Other rule 3").select_option("grpo")
    on_policy = checked_panel(page)["curves"]
    assert on_policy[:4] == before
    # Without a moved ratio a token is never clipped.
    assert len(on_policy) == 6
    assert on_policy[4] == on_policy[5]
    page.get_by_label("Steps on each batch").select_option("16")
    stale = checked_panel(page)["curves"]
    assert stale[:4] == before
    assert stale[4] != stale[5]


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
