"""Guards each finding on runs made for it, and that sound runs have none that is a fault."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from diagnosis import diagnose
from diagnosis.engine import LEADS_TO
from diagnosis.facts import Facts
from diagnosis.findings import FAULTS, MEANING, NAMES, short
from diagnosis.text import as_text
from entropy_theory.training_logs.logs import Series
from entropy_theory.training_logs.names import QUANTITIES, engines
from tests.daily import one_in
from tests.diagnosis.runs import healthy, late, noise, run

SEEDS = range(5)


def flat(seed, n=200, level=0.4, scale=0.03):
    return level + scale * noise(np.random.default_rng([seed, 7]), n, 0.3)


def collapse(seed):
    return healthy(seed) | {"reward": flat(seed), "score": flat(seed),
                            "entropy": late(flat(seed, level=0.6), 0.05, 0.2)}


def dilution(seed):
    series = healthy(seed)
    return series | {"length": late(series["length"], 3), "entropy": late(series["entropy"], 0.4)}


def explosion(seed):
    series = healthy(seed)
    return series | {"entropy": late(series["entropy"], 5, 0.65)}


def growth(seed):
    """What is there to gain is gained in the first half; no token is clipped, and each step is fresh."""
    still = {"clipped": np.zeros(200), "kl_step": np.zeros(200)}
    return explosion(seed) | still


def truncation(seed):
    series = healthy(seed)
    return series | {"truncated": series["truncated"] + late(np.full(200, 0.01), 40) - 0.01}


def length_drift(seed):
    series = healthy(seed)
    return series | {"length": late(series["length"], 4), "entropy": late(series["entropy"], 0.9)}


def no_signal(seed):
    return healthy(seed) | {"zero_variance": np.clip(flat(seed, level=0.9), 0, 1)}


def apart(seed):
    series = healthy(seed)
    more = np.linspace(0, 0.2, 200)
    return series | {"reward": series["reward"] + more, "score": flat(seed, scale=0.01)}


def clipped(seed):
    return healthy(seed) | {"clipped": flat(seed, level=0.25)}


def one_sided(seed):
    return healthy(seed) | {"clipped_low": np.abs(flat(seed, level=0.0, scale=0.0005)),
                            "clipped_high": np.abs(flat(seed, level=0.05, scale=0.005))}


def held(seed):
    level = 0.003 * (1 - np.exp(-np.arange(200) / 8))
    return healthy(seed) | {
        "reward": flat(seed), "score": flat(seed), "entropy": flat(seed, level=0.6),
        "kl_reference": level * np.exp(0.05 * noise(np.random.default_rng(seed), 200))}


def held_by_the_loss(seed):
    series = healthy(seed)
    noisy = 0.001 * noise(np.random.default_rng([seed, 5]), 200)
    return series | {"loss": 0.5 * series["kl_reference"] + noisy}


def mismatch(seed):
    return healthy(seed) | {"mismatch": late(flat(seed, level=0.004, scale=0.0003), 8)}


def lost(seed):
    series = healthy(seed)
    return series | {"reward": np.clip(late(series["reward"], 0.05), 0, 1),
                     "score": late(series["score"], 0.05)}


def repeated(seed):
    cycle = 0.1 * np.sign(np.sin(np.arange(200) * 2 * np.pi / 25))
    return healthy(seed) | {"reward": flat(seed) + cycle, "score": flat(seed)}


def overflowed(seed):
    """A run whose last 60 entropies are no numbers, as the reader passes it on."""
    return {name: value[:140] if name == "entropy" else value for name, value in healthy(seed).items()}


def nothing(seed):
    """The shape of a real run of TRL: a prompt per step, rewards 0 to 2, 59 % of steps without gradient.

    Hard prompts have more entropy and less reward, which looks like a law.
    """
    generator = np.random.default_rng(seed)
    hard = generator.random(2400)
    equal = (generator.random(2400) < 0.59).astype(float)
    return {"reward": np.clip(2 - 2 * hard + 0.5 * generator.normal(size=2400), 0, 2),
            "entropy": 0.02 + 0.09 * hard, "gradient_norm": 2 - 2 * equal, "zero_variance": equal}


CASES = [
    (collapse, "collapse"), (dilution, "dilution"), (explosion, "explosion"), (growth, "growth"),
    (truncation, "truncation"),
    (length_drift, "length drift"), (no_signal, "no signal"), (apart, "held-out apart"),
    (clipped, "clipping"), (one_sided, "clipping"), (held, "kl"), (held_by_the_loss, "kl"),
    (mismatch, "mismatch"), (lost, "schedule"), (repeated, "prompt order"), (nothing, "nothing learned"),
    (overflowed, "not finite"),
]


def made(series, make=None):
    """The run of some series; that of `overflowed` breaks off where its entropy ends."""
    found = run(series)
    if make is overflowed:
        broken = dataclasses.replace(found.series["entropy"], broken=141.0)
        found = dataclasses.replace(found, series={**found.series, "entropy": broken})
    return found


@pytest.mark.parametrize(("make", "name"), CASES, ids=[make.__name__ for make, _ in CASES])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_finding_is_found_in_a_run_made_for_it(make, name, seed):
    found = diagnose(made(make(seed), make))
    assert name in {one.name for one in found.findings}, found.sentence
    assert not (found.healthy and name in FAULTS)


@pytest.mark.parametrize("seed", SEEDS)
def test_length_is_held_to_explain_no_more_than_the_fall_beside_it(seed):
    """In `dilution` four fifths of the fall come before responses grow; from a flat entropy none does."""
    flat_before = dilution(seed) | {"entropy": late(flat(seed, level=0.6), 0.4)}
    said = [one.against for series in (dilution(seed), flat_before)
            for one in diagnose(run(series)).findings if one.name == "dilution"]
    before = [any("most of the fall came before" in text for text in texts) for texts in said]
    assert before == [True, False]


@pytest.mark.parametrize("make", [dilution, explosion, truncation, length_drift, lost])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_begins_late_is_dated(make, seed):
    """All of these begin at step 121 or 131 of 200, over 20 steps."""
    found = next(one for one in diagnose(run(make(seed))).findings if (make, one.name) in CASES)
    assert 105 <= found.begin <= 145


def test_a_finding_for_each_name():
    """A name of the closed list that no case here has would go untested."""
    assert {name for _, name in CASES} == FAULTS | {"prompt order"}
    assert set(MEANING) == set(NAMES)


@pytest.mark.parametrize("rho", one_in(3, [0.5, 0.0, 0.8]))
def test_sound_runs_have_no_fault(rho):
    """At most one in 40, and they converge."""
    found = [diagnose(run(healthy(seed, int(60 + 10 * seed), rho))) for seed in range(40)]
    assert sum(not one.healthy for one in found) <= 1, [one.sentence for one in found if not one.healthy]
    assert sum(one.findings[0].name == "converging" for one in found) >= 36


def test_entropy_that_grows_with_reward_is_no_fault():
    """The sign of the law is not assumed."""
    series = healthy(0)
    series["entropy"] = 0.3 / series["entropy"]
    assert diagnose(run(series)).findings[0].name == "converging"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_relation_without_a_trend_is_nothing_learned_first(seed):
    found = diagnose(run(nothing(seed), "trl"))
    assert found.findings[0].name == "nothing learned"
    assert "converging" not in {one.name for one in found.findings}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("change", [
    {"clipped": np.full(200, 0.01)},  # a clip that bites
    {"kl_step": np.full(200, 0.02)},  # samples of an older policy
    {"clipped": np.empty(0), "kl_step": np.empty(0)},  # neither is logged
    {"reward": np.linspace(0.3, 0.9, 200), "score": np.linspace(0.3, 0.9, 200)},  # still gaining
    {"reward": np.full(200, 0.5), "score": np.full(200, 0.5)},  # never gained
    {"reward": np.linspace(0.9, 0.3, 200), "score": np.linspace(0.9, 0.3, 200)},  # losing
    {"entropy": np.linspace(0.6, 0.1, 200)},
    dict.fromkeys(
        ("reward", "score"), np.interp(np.arange(200), [0, 80, 125, 199], [0.2, 0.9, 0.9, 0.6])),
], ids=["clipped", "stale", "not logged", "gaining", "never gained", "losing", "falling", "lost late"])
def test_growth_needs_a_gain_that_is_done_and_clips_that_are_still(change, seed):
    noisy = {name: value + (name not in ("clipped", "kl_step")) * 0.01 * noise(
        np.random.default_rng(seed), len(value)) for name, value in change.items()}
    series = {name: value for name, value in (growth(seed) | noisy).items() if len(value)}
    assert "growth" not in names(series)


def test_growth_takes_the_place_of_explosion_and_ranks_what_may_do_it():
    found = found_in(growth(0), "growth")
    assert "explosion" not in names(growth(0))
    assert "share of clipped tokens 0, KL of a step 0 since: no clip does it" in found.evidence
    assert "an entropy bonus, which Adam" in found.evidence[-1]
    assert "its coefficient is not logged" in found.evidence[-1]
    logged = {"entropy_coefficient": np.full(200, 0.001), "zero_variance": np.full(200, 0.8)}
    said = found_in(growth(0) | logged, "growth").evidence[-1]
    assert "(80 % of groups are equal): its coefficient is 0.001" in said
    without = found_in(growth(0) | {"entropy_coefficient": np.zeros(200)}, "growth").evidence[-1]
    assert without.startswith("what may: noise of steps")


def test_a_fall_that_is_all_length_is_no_collapse():
    series = healthy(0) | {"reward": flat(0), "score": flat(0)}
    series |= {"length": late(series["length"], 3), "entropy": late(flat(0, level=0.6), 0.4)}
    names = {one.name for one in diagnose(run(series)).findings}
    assert "dilution" in names
    assert "collapse" not in names


@pytest.mark.parametrize("n", [1, 5, 15])
def test_few_steps_tell_nothing(n):
    found = diagnose(run({name: value[:n] for name, value in healthy(0).items()}))
    assert [one.name for one in found.findings] == ["not enough"]
    assert found.healthy


def test_entropies_that_end_are_the_headline():
    found = diagnose(made(overflowed(0), overflowed))
    assert found.sentence.startswith("Not finite: from step 141 on, actor/entropy is not finite.")
    assert found.findings[0].begin == 141
    few = {name: value[:10] for name, value in overflowed(0).items()}
    both = diagnose(made(few, overflowed)).findings
    assert [one.name for one in both] == ["not finite", "not enough"]


def test_without_entropy_the_rest_is_diagnosed():
    series = truncation(0)
    del series["entropy"]
    found = diagnose(run(series))
    assert found.findings[0].name == "truncation"
    assert found.missing[0].setting == engines()["verl"].setting


def test_a_restart_is_a_note():
    found = diagnose(run(healthy(0), restarts=(80.0,)))
    assert {one.name for one in found.findings} == {"converging", "restart"}
    assert found.healthy


def test_runs_on_the_same_prompts_show_their_order():
    """The same detours in both are those of the prompts; each run's own noise is not."""
    shared = 0.08 * noise(np.random.default_rng(1), 200)
    first, second, apart_ = (healthy(seed) for seed in range(3))
    for one in (first, second):
        one["reward"] = one["reward"] + shared
    names = {one.name for one in diagnose(run(first), [run(second)]).findings}
    assert "prompt order" in names
    assert diagnose(run(first), [run(apart_)]).healthy


def test_the_side_of_the_clip_that_stops_most_is_named():
    first, *_ = diagnose(run(one_sided(0))).findings
    assert "mostly the upper clip" in first.evidence[0]
    series = one_sided(0)
    series["clipped_low"], series["clipped_high"] = series["clipped_high"], series["clipped_low"]
    first, *_ = diagnose(run(series)).findings
    assert "mostly the lower clip" in first.evidence[0]


def test_what_the_log_shows_to_be_idle_is_not_advised():
    """A clip that stops no token, and groups that are mixed already."""
    series = collapse(0) | {"clipped": np.zeros(200), "zero_variance": np.full(200, 0.1)}
    del series["mismatch"]
    advised = " ".join(one.option for found in diagnose(run(series)).findings for one in found.remedies)
    assert "entropy_coeff" in advised
    assert "clip_ratio_high" not in advised
    assert "filter_groups" not in advised


def test_lengths_are_written_out():
    """And three digits of what is small."""
    assert [short(one) for one in (8192.4, 999.6, 0.01234, 3e9)] == ["8192", "1000", "0.0123", "3e+09"]


def test_the_parts_say_whose_doing_it_was():
    series = healthy(0) | {"entropy_change": np.full(20, -0.01), "part_gradient": np.full(20, -0.013),
                           "part_momentum": np.full(20, 0.003)}
    assert diagnose(run(series)).parts == pytest.approx(
        {"measured": -0.2, "the batch's gradient": -0.26, "momentum": 0.06})


@pytest.mark.parametrize("make", [make for make, _ in CASES], ids=[make.__name__ for make, _ in CASES])
def test_the_record_is_json_with_every_field(make):
    found = diagnose(made(make(0), make))
    record = json.loads(json.dumps(found.record()))
    assert record["schema"] == 1
    assert set(record) == {"schema", "healthy"} | {field.name for field in dataclasses.fields(found)}
    assert record["findings"][0]["evidence"]


# ------------------------------------------------------------------ what leads to what


def names(series, **fields):
    return [one.name for one in diagnose(run(series, **fields)).findings]


def found_in(series, name):
    return next(one for one in diagnose(run(series)).findings if one.name == name)


def ruined(seed):
    """Reward is lost at step 121; from then on responses do not end, and groups are all wrong."""
    series = lost(seed) | {"entropy": flat(seed, level=0.6),
                           "zero_variance": np.clip(late(flat(seed, level=0.1), 9), 0, 1)}
    return series | {"truncated": series["truncated"] + late(np.full(200, 0.01), 60) - 0.01}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_ruins_a_policy_stands_before_what_that_leads_to(seed):
    found = names(ruined(seed))
    assert found[0] == "schedule"
    assert "truncation" in found


def test_what_begins_earlier_is_not_led_to():
    """Responses are cut from step 41 on, and reward is lost at step 121."""
    series = ruined(0)
    series["truncated"] = late(np.full(200, 0.01), 60, 0.2)
    found = names(series)
    assert found[0] == "truncation"
    assert "schedule" in found


def test_an_unsure_finding_leads_to_nothing():
    """Three fifths of the groups without signal do not make a run learn nothing."""
    series = held(0) | {"zero_variance": flat(0, level=0.69, scale=0.01)}
    assert names(series)[:2] == ["nothing learned", "no signal"]
    series["zero_variance"] = flat(0, level=0.95, scale=0.01)
    assert names(series)[:2] == ["no signal", "nothing learned"]


def test_responses_that_grow_lead_to_the_limit_and_those_that_shrink_do_not():
    series = truncation(0)
    assert names(series | {"length": late(series["length"], 3)})[0] == "length drift"
    shrinking = names(series | {"length": late(series["length"], 1 / 4)})
    assert shrinking[0] == "truncation"
    assert "length drift" in shrinking


def test_no_finding_leads_to_itself():
    """By way of others: the ranking would then find no first one."""
    def reached(name, seen=()):
        assert name not in seen
        for other in LEADS_TO.get(name, ()):
            reached(other, (*seen, name))

    for name in LEADS_TO:
        reached(name)
        assert LEADS_TO[name] <= FAULTS


def test_a_loss_that_another_policy_s_samples_explain_is_no_schedule():
    assert "schedule" in names(lost(0))
    found = names(lost(0) | mismatched(0))
    assert "mismatch" in found
    assert "schedule" not in found


def mismatched(seed):
    return {"mismatch": flat(seed, level=0.05, scale=0.003)}


def test_a_mismatch_has_a_beginning_unless_it_is_there_from_the_start():
    assert 121 <= found_in(mismatch(0), "mismatch").begin <= 140
    assert found_in(healthy(0) | mismatched(0), "mismatch").begin is None


def test_a_loss_while_entropy_only_grows_is_that_of_a_bonus():
    falling = np.interp(np.arange(200), [120, 150], [0.7, 0.05])
    series = lost(0) | {"reward": falling + 0.02 * noise(np.random.default_rng(3), 200)}
    found = names(series | {"entropy": late(flat(0, level=0.4), 2.5)})
    assert "explosion" in found
    assert "schedule" not in found
    assert "schedule" in names(series | {"entropy": flat(0, level=0.4)})
    dips = late(late(flat(0, level=0.4), 0.5, 0.3), 5)  # steps that are too large also lower it
    assert "schedule" in names(series | {"entropy": dips})


def test_a_change_of_reward_by_a_fiftieth_is_none():
    """However clear it is."""
    noisy = 1e-4 * noise(np.random.default_rng(0), 200)
    for gain, direction in ((0.01, 0), (0.03, 1)):
        facts = Facts(run({"reward": 0.8 + noisy + np.linspace(0, 0.8 * gain, 200)}))
        assert facts.move("reward", 1).direction == direction


def test_a_reward_that_never_moves_is_said_not_to_move():
    series = held(0) | {"reward": np.full(200, 0.1 + 0.2)}
    del series["score"]
    found = found_in(series, "nothing learned")
    assert "along a line over 200 values, reward does not move" in found.evidence


def test_groups_of_which_nothing_is_known_are_not_advised_about():
    series = held(0)
    advised = {}
    for share in (None, 0.9):
        known = {} if share is None else {"zero_variance": np.full(200, share)}
        found = found_in(series | known, "nothing learned")
        advised[share] = " ".join(one.option for one in found.remedies)
        assert ("is not logged" in found.evidence[-1]) == (share is None)
    assert "filter_groups" in advised[0.9]
    assert not advised[None]


def test_a_screen_has_two_changes_of_the_first_finding_and_one_of_others():
    """None twice."""
    found = diagnose(run(collapse(0) | {"zero_variance": no_signal(0)["zero_variance"]}))
    assert len(found.findings[1].remedies) > 1
    text = as_text(found)
    blocks = [text.index(f"\n{one.name} (") for one in found.findings] + [text.index("columns taken")]
    counts = [text[begin:end].count("  change  ") for begin, end in itertools.pairwise(blocks)]
    assert len(found.findings[0].remedies) > 2
    assert counts[0] == 2
    assert max(counts[1:]) <= 1
    changes = [line for line in text.splitlines() if line.startswith("  change  ")]
    assert len(set(changes)) == len(changes)


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("make", [make for make, _ in CASES], ids=[make.__name__ for make, _ in CASES])
def test_order_of_columns_and_length_of_a_step_do_not_matter(make):
    plain = made(make(1), make)
    turned = dataclasses.replace(plain, series={
        name: dataclasses.replace(one, step=10 * one.step)
        for name, one in reversed(plain.series.items())})
    first, second = diagnose(plain), diagnose(turned)
    assert [(one.name, one.confidence) for one in first.findings] == [
        (one.name, one.confidence) for one in second.findings]
    assert [phase.begin * 10 for phase in first.phases] == [phase.begin for phase in second.phases]


@pytest.mark.parametrize("engine", engines())
def test_the_engine_changes_remedies_alone(engine):
    first, second = diagnose(run(dilution(0))), diagnose(run(dilution(0), engine))
    assert [dataclasses.replace(one, remedies=()) for one in first.findings] == [
        dataclasses.replace(one, remedies=()) for one in second.findings]


@pytest.mark.parametrize("seed", range(40))
def test_no_log_is_too_odd(seed):
    """Any quantities at steps of their own, constant, huge, negative or few: a verdict, no error."""
    generator = np.random.default_rng(seed)
    series = {}
    for name in generator.permutation(QUANTITIES)[: generator.integers(1, len(QUANTITIES))]:
        n = int(generator.choice([1, 2, 3, 7, 20, 90]))
        size = generator.choice([0, 1e-9, 1, 1e6])
        value = generator.choice([0.0, 1.0, -3.0, 1e9]) + size * noise(generator, n)
        step = np.sort(generator.choice(200, n, replace=False)).astype(float)
        series[str(name)] = Series(str(name), step, np.abs(value) if generator.random() < 0.7 else value)
    whole = dataclasses.replace(run({}), series=series)
    found = diagnose(whole, [whole])
    assert found.sentence
    assert all(0 <= one.confidence <= 1 for one in found.findings)
    assert "nan" not in as_text(found)


def test_sound_runs_of_one_order_of_prompts_are_sound():
    """Two healthy runs of the same data, of which a CI job fails both for being compared."""
    shared = np.random.default_rng(5).normal(0, 0.05, 150)
    both = []
    for seed in range(2):
        series = healthy(seed, 150)
        both.append(run({**series, "reward": series["reward"] + shared}))
    found = diagnose(both[0], both[1:])
    assert "prompt order" in [one.name for one in found.findings]
    assert found.healthy
