"""The numbers of the live panel, computed in headless Chromium, beside the package's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from entropy_theory import (
    advantages,
    entropy_change,
    performance_law,
    policy,
    tabular,
    update_rules,
)
from entropy_theory.update_rules import UpdateRule
from paper_figures.site import bandit, traced_rules
from simulations.engine import Dynamics, simulate
from simulations.experiments.aepo_figure_1 import _is_held
from tests.daily import one_in

SAME = 1e-12
"""The promise of one formula, nats (relative where numbers are above 1): a few dozen roundings."""
ALONG = 1e-10
"""That of a whole run. Each step adds a few dozen roundings of 1e-16, and later steps stretch them: by no
more than some hundred times in 56 random runs of 2,000 steps (the largest gap was 2e-14). Under penalties
of KL-Cov above 1 runs can be chaotic: two of the simulator's own that start 1e-15 apart part by 5e-10."""


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
            changes: bandit.temperedChanges(logits, correct, 0.7, temperatures),
        }))""", [cases, temperatures])
    at = np.array(temperatures)
    for case, js in zip(cases, found, strict=True):
        z, right = np.array(case["logits"]), np.array(case["correct"])
        rows = np.broadcast_to(z, (len(at), len(z)))
        steps = entropy_change.tempered_reinforce_step(rows, right, at)
        for name, expected in (
            ("tempered", policy.softmax(rows, at)),
            ("gradient", policy.entropy_gradient(z)),
            ("rates", entropy_change.tempered_reinforce_rate(rows, right, at)),
            ("steps", steps),
            ("changes", entropy_change.exact(rows, 0.7 * steps)),
        ):
            np.testing.assert_allclose(js[name], expected, rtol=SAME, atol=SAME, err_msg=name)
        # With every digit, at collapse too.
        np.testing.assert_allclose(js["entropy"], policy.entropy(rows, at), rtol=SAME)
        np.testing.assert_allclose(
            js["crossing"], entropy_change.sign_change_temperature(z, right), rtol=1e-9)


def settings(rng: np.random.Generator, **chosen: Any) -> dict[str, Any]:
    """Every setting of a run within the panel's ranges, at random but for those that are chosen."""
    return {
        "rate": rng.uniform(0.05, 1), "steps": 300, "batch": 1, "group": int(rng.integers(2, 65)),
        "temperature": rng.uniform(0.2, 5), "coefficient": rng.uniform(0, 0.5),
        "target": rng.uniform(0.05, 1.8), "alpha": rng.uniform(0.1, 4), "high": rng.uniform(1.05, 3),
        "low": rng.uniform(0.1, 1), "share": rng.uniform(0.1, 0.9), "lower": rng.uniform(-0.2, 0.1),
        "upper": rng.uniform(0.1, 3), "penalty": rng.uniform(0, 1), **chosen}


def package_rule(name: str, of: dict[str, Any]) -> UpdateRule:
    """The package's rule that the panel runs under a name with these settings."""
    groups = update_rules.get("grpo", group_size=of["group"])
    options: dict[str, dict[str, Any]] = {
        "grpo": {"group_size": of["group"]},
        "entropy-bonus": {"base": groups, "coefficient": of["coefficient"]},
        "aepo": {"base": groups, "target": of["target"], "alpha": of["alpha"],
                 "temperature_high": of["high"], "temperature_low": of["low"]},
        "clip-cov": {"base": groups, "ratio": of["share"], "lower": of["lower"], "upper": of["upper"]},
        "kl-cov": {"base": update_rules.get("grpo", group_size=of["group"], clip_low=math.inf,
                                            clip_high=math.inf, normalization="token-mean"),
                   "ratio": of["share"], "coefficient": of["penalty"]},
    }
    return update_rules.get("reinforce" if name == "tempered" else name, **options.get(name, {}))


def simulated(name: str, case: dict[str, list], of: dict[str, Any]) -> Any:
    """The simulator's run of a case, recorded at every step."""
    z, right = (np.array(case[key])[None, None] for key in ("logits", "correct"))
    return simulate(z, right, Dynamics(
        rule=package_rule(name, of), learning_rate=of["rate"], steps=of["steps"], record_every=1,
        steps_per_batch=of["batch"], temperature=of["temperature"] if name == "tempered" else None))


@pytest.mark.parametrize("name", [*bandit.WITH_SETTINGS, "tempered"])
def test_a_run_is_the_simulator_s_with_every_setting(name: str, at_rest: Any) -> None:
    """Another rule than the simulator and the trainer run under this name, on policy or stale."""
    rng = np.random.default_rng(len(name))
    cases = [case for case in bandits(rng) if len(case["logits"]) in (3, 8)][::3]
    given = [[case, settings(rng, batch=batch)] for case in cases for batch in (1, 4)]
    found = at_rest.evaluate(
        """([name, given]) => given.map(([{logits, correct}, settings]) => {
            const run = bandit.run(name, logits, correct, settings);
            return {...run, tail: bandit.tail(run, settings.target)}; })""", [name, given])
    for (case, of), js in zip(given, found, strict=True):
        run = simulated(name, case, of)
        np.testing.assert_allclose(js["entropy"], run.entropy[:, 0], rtol=0, atol=ALONG)
        np.testing.assert_allclose(js["reward"], run.reward[:, 0], rtol=0, atol=ALONG)
        assert js["tail"]["mean"] == pytest.approx(run.tail_entropy[0], abs=ALONG)
        if name == "aepo":
            assert js["tail"]["changes"] == run.tail_switches[0]
            assert js["tail"]["held"] == _is_held(run, np.array([of["target"]]))[0]


OFFERED = [name for name in update_rules.RULES
           if name not in bandit.WITH_SETTINGS and isinstance(traced_rules.function(name), str)]


@pytest.mark.parametrize("third", one_in(3, range(3)))
def test_traced_rules_take_the_steps_of_the_simulator(third: int, at_rest: Any) -> None:
    """A rule whose JavaScript, on policy or stale, is not the rule: a third of them."""
    cases = [case for case in bandits(np.random.default_rng(2)) if len(case["logits"]) in (2, 5, 8)]
    found = at_rest.evaluate(
        "([names, cases]) => names.map(name => [1, 4].map(batch => cases.map(({logits, correct}) => "
        "bandit.run(name, logits, correct, {rate: 0.5, steps: 24, batch, group: 8}).entropy)))",
        [OFFERED[third::3], cases])
    for name, of_rule in zip(OFFERED[third::3], found, strict=True):
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
    left = set(update_rules.RULES) - set(OFFERED) - set(bandit.WITH_SETTINGS)
    assert left == {"aent", "entropic", "natural-gradient"}
    assert "closed loop" in bandit.page({})
    assert "`natural-gradient`: " in bandit.page({})


def test_tokens_are_selected_as_the_rules_select_them(at_rest: Any) -> None:
    """Another covariance, band, quota, order of ties or random choice than Clip-Cov's and KL-Cov's."""
    rng = np.random.default_rng(3)
    given = [[case, settings(rng, lower=-0.1), int(rng.integers(2000))] for case in bandits(rng)]
    found = at_rest.evaluate(
        """given => given.map(([{logits, correct}, settings, step]) => bandit.selection(
            bandit.batchOf(logits, correct, settings), settings, step))""", given)
    several = 0
    for (case, of, step), js in zip(given, found, strict=True):
        batch = tabular.listing(np.array([case["logits"]]), np.array([case["correct"]])).replace(
            step=step, listed=True)
        for name, masks in (("clip-cov", {"selected": "clipped", "candidate": "candidates"}),
                            ("kl-cov", {"selected": "penalized"})):
            prepared = package_rule(name, of).prepare(batch).prepared
            for column, key in masks.items():
                assert prepared[f"{name}.{column}"].ravel().tolist() == js[key], (case, of)
        several += sum(js["candidates"]) > js["count"] > 0
    assert several > 5  # where the random choice decides


def test_the_law_is_fitted_as_the_package_fits_it(at_rest: Any) -> None:
    rng = np.random.default_rng(4)
    entropy = rng.uniform(0, 2, size=(6, 40))
    reward = 1.1 - 0.1 * np.exp(entropy) + rng.normal(scale=0.05, size=entropy.shape)
    found = at_rest.evaluate(
        "rows => rows.map(([h, r]) => bandit.law(h, r))", np.stack([entropy, reward], 1).tolist())
    for js, h, r in zip(found, entropy, reward, strict=True):
        law = performance_law.fit(h, r)
        expected = [law.a, law.b, law.r_squared, law.rmse]
        # Each is made of four sums of 40 terms, which round at each term.
        bound = 4 * 40 * np.finfo(float).eps
        assert [js[key] for key in ("a", "b", "explained", "rmse")] == pytest.approx(expected, rel=bound)
    assert at_rest.evaluate("bandit.law([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])") is None


def test_the_gain_of_groups_is_the_package_s(at_rest: Any) -> None:
    p = np.array([1e-9, 0.01, 0.3, 0.5, 0.99, 1 - 1e-9])
    for size in (2, 3, 8, 64):
        found = at_rest.evaluate("([p, size]) => p.map(x => bandit.groupGain(x, 1 - x, size))",
                                 [p.tolist(), size])
        expected = advantages.group_normalization_gain(p, 1 - p, group_size=size)
        np.testing.assert_allclose(found, expected, rtol=SAME)
