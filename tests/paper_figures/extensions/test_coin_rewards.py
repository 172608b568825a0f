"""Guards paper_figures/extensions/coin_rewards.py."""

import dataclasses
from pathlib import Path

import pandas
import pytest
from scipy import stats

from entropy_theory.support.results import write_json
from llm_bridge.commands.noise_designs import BONUS, GROUPS, REMEDIES, NoisyRun
from paper_figures.data.tables import pick
from paper_figures.extensions import coin_rewards as figure

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "why_entropy_grows.md").read_text(encoding="utf-8")
ONE_LINE = " ".join(PAGE.split())
MEASURED = figure.data(ROOT / "paper_figures" / "measured")
STEPS = 80
FLAT_NAMES = {"plain": "none", "rate to 0": "a rate that decays to zero",
              "batch of 4 times": "four times the prompts", "eps 1e-4": "Adam's eps at 1e-4",
              "KL .001": "KL penalty .001", "KL .1": "KL penalty .1"}
"""The page's words for the runs from a flat reward."""
OPTIMIZERS = {"AdamW": "AdamW", "AdamW, beta1 0": "AdamW without momentum", "SGD": "SGD",
              "momentum": "SGD with momentum"}
"""The page's words for optimizers."""
CHANGES = {"AdamW": (0.1, 0.2, 0.3), "AdamW, beta1 0": (-0.02, 0.0, 0.02), "SGD": (-0.02, 0.0, 0.02)}


def record(change, parts=None, **which):
    """A run in which entropy grows evenly."""
    asked = NoisyRun(**which)
    blocks = STEPS // figure.BLOCK
    entropy = [0.4 + change * block / (blocks - 1) for block in range(blocks)]
    return {
        **dataclasses.asdict(asked), "name": asked.name, "label": asked.optimizer,
        "first": 0.4, "last": 0.4 + change, "probe_first": 0.4, "probe_last": 0.4 + change,
        "blocks": {"probe_entropy": entropy, "move": [0.01] * blocks, "net_move": [0.25] * blocks,
                   "reward": [0.5] * blocks},
        **({} if parts is None else {"parts": parts}),
    }


def forecast(drift, **which):
    asked = NoisyRun(kind="forecast", seed=100, **which)
    update = {"drift": drift, "noise": drift, "curvature": 0.0, "move": 0.1, "isotropic": drift,
              "score": drift}
    return {**dataclasses.asdict(asked), "name": asked.name, "label": asked.optimizer,
            "updates": [update, update], "walks": {"60": [0.1, 0.3], "70": [0.2, 0.4]}}


@pytest.fixture
def table(tmp_path):
    runs = [record(change, optimizer=optimizer, rate=figure.rate_of(optimizer), seed=seed)
            for optimizer, changes in CHANGES.items() for seed, change in enumerate(changes)]
    (tmp_path / "noise").mkdir()
    write_json(tmp_path / figure.FILES["small-sums"], {"provenance": {}, "records": [
        forecast(-0.01), *runs, record(0.0, variant="KL .1"),
        record(-0.1, variant="rate to 0", kind="from flat", coin=None)]})
    return figure.data(tmp_path)


def test_changes_are_over_what_the_logits_moved(table):
    by_run, shapes, other, _ = figure.tables(table)
    rows = {row[0]: row[1:] for row in by_run.rows}
    adam = rows["sum, coin 0.5, AdamW 0.0002"]
    # .2 on the mean of three, over 8 blocks of .25; the error is .1 / sqrt 3 over 2.
    assert adam == ("3", "0.400", "0.600 ± 0.058", "0.0100", "0.250", "0.100 ± 0.029",
                    "0.200 ± 0.058", "+0.250 (0.13)", "-0.650 ± 0.000")  # four walks; 65 of -.01
    assert rows["sum, coin 0.5, SGD matched"][-2:] == ("", "")
    assert shapes.rows[0][1:] == ("-0.0100", "-0.0100", "+0.0000", "-0.0100", "-0.0100")
    assert [row[0] for row in other.rows] == [
        "coin: plain", "coin: KL .1", "own reward, from flat: rate to 0"]


def test_the_criteria_depend_on_seeds_and_on_forecasts(table):
    """Runs from a flat reward, or of another variant, taken for AdamW's."""
    adam, *of_momentum, off, single = figure.finding(table).criteria
    # The root of (.01 + .04 + .09) over that of (.0004 + .0004): a square for each of three seeds.
    assert adam.number.value == pytest.approx((0.14 / 0.0008) ** 0.5)
    assert not any(one.met for one in of_momentum)  # of which there is no run
    # .2 came of .25, which walks spread by .129 about; of second order it was -.65.
    assert off.number.value == pytest.approx(0.05 / (0.129099 / 3**0.5), rel=1e-4)
    assert single.number.value == pytest.approx(0.85 / 0.05)
    raised = table.copy()
    raised.loc[raised["panel"] == "walk", "change"] += 1.0
    assert [one.met for one in figure.finding(raised).criteria] == [True] + 5 * [False]


def test_accounts_stand_beside_the_forecast_of_their_own_variant(tmp_path):
    """Walks of another variant, or how many runs came within them; a part of another run."""
    parts = dict.fromkeys(figure.PARTS, 0.01)
    stale = {"kind": "accounted", "variant": "8 steps stale"}
    far = forecast(-0.01, variant="bfloat16 sampler")
    (tmp_path / "noise").mkdir()
    write_json(tmp_path / figure.FILES["small-sums"], {"provenance": {}, "records": [
        {**far, "walks": {"60": [9.0, 9.1]}}, forecast(-0.01, variant="8 steps stale"),
        *(record(change, parts | {"momentum": change}, seed=seed, **stale)
          for seed, change in enumerate((0.2, 0.3, 0.6))),
        record(0.1, parts, kind="accounted", coin=None)]})
    *_, accounts = figure.tables(figure.data(tmp_path))
    coin, own = accounts.rows
    # Walks .1 to .4: .25 with a standard deviation of .129, 1.96 of which reach .253.
    assert coin[:5] == ("sum, coin 0.5, AdamW 0.0002, 8 steps stale", "3", "0.367 ± 0.120",
                        "-0.00 to +0.50", "2")
    assert coin[5:] == (*["0.010"] * 3, "0.367 ± 0.120", *["0.010"] * 2)
    assert own[0] == "sum, own reward, AdamW 0.0002"
    assert own[3:5] == ("", "")


def test_paths_begin_at_no_change(table):
    paths = table[table["panel"] == "path"]
    assert set(paths.loc[paths["step"] == 0, "change"]) == {0.0}
    last = pick(paths, optimizer="AdamW", variant="plain", seed=2, step=70)
    assert last["change"].item() == pytest.approx(0.3)


@pytest.mark.parametrize(("sgd", "outcomes"), [
    ((0.05, 0.06, 0.07), ["seen", "seen"]), ((0.5, 0.6, 0.7), ["seen", "not seen"])])
def test_the_pretrained_model_has_criteria_of_its_own(tmp_path, table, sgd, outcomes):
    """Its runs of SGD among those of the small model; a difference the wrong way round."""
    file = tmp_path / figure.FILES["smollm2-135m-instruct"]
    file.parent.mkdir()
    write_json(file, {"provenance": {}, "records": [
        record(change, task="chain-sum", optimizer=optimizer,
               rate=2e-5 if optimizer == "AdamW" else 1e-3, seed=seed)
        for optimizer, changes in (("AdamW", (0.2, 0.21, 0.22)), ("SGD", sgd))
        for seed, change in enumerate(changes)]})
    alone, both = (figure.finding(one).criteria for one in (table, figure.data(tmp_path)))
    assert str(both[: len(alone)]) == str(alone)
    assert [one.outcome for one in both[len(alone) :]] == outcomes


def on_the_page(values):
    """A mean over runs with its standard error, as the page writes it."""
    mean, error = f"{values.mean():+.3f}", f"{values.sem():.3f}"
    if float(mean) == 0:
        mean = "0"
    return (f"{mean} ± {error}" if float(error) else mean).replace("0.", ".")


def forecast_on_the_page(of):
    ends = (of["walk"] + side * of["spread"] for side in (-figure.ERRORS, figure.ERRORS))
    return [" to ".join(f"{end:+.2f}" for end in ends).replace("0.", "."),
            f"{of['inside']} of {of['seeds']}"]


def test_the_page_has_the_parts_of_every_accounted_run():
    """A row of another setting, a forecast that was drawn anew, or runs that came after the page."""
    accounted = MEASURED.dropna(subset="signal")
    forecasts = {figure._named(row): forecast_on_the_page(row) for row in figure.compared(
        MEASURED, pick(accounted, kind="accounted")).to_dict("records")}
    for (name, _), runs in accounted.groupby([accounted.apply(figure._named, axis=1), "kind"]):
        parts = [on_the_page(runs[part]) for part in ("signal", "noise", "momentum", "mismatch")]
        cells = [str(len(runs)), on_the_page(runs["change"]), *forecasts.get(name, ["", ""]), *parts]
        assert f"| {' | '.join(cells)} |" in PAGE, name


def test_the_page_has_every_adapter_of_smollm2():
    """A row under another's name, a count of runs inside, or parts that are clear after all."""
    adapters = pick(MEASURED.dropna(subset="signal"), task="chain-sum")
    for (variant, rate, kind, coin), runs in adapters.groupby(
            ["variant", "rate", "kind", adapters["coin"].notna()]):
        name = variant.removeprefix("LoRA").removeprefix(", ") or f"at {round(rate * 1e4)}e-4"
        name = name if coin else "own reward" + ", once flat" * (kind == "from flat")
        assert len(runs) == 5
        assert f"| {name} | 5 | {on_the_page(runs['change'])} |" in PAGE, name
    found = figure.compared(MEASURED, pick(adapters, kind="accounted"))
    inside, count = found["inside"].sum(), found["seeds"].sum()
    assert (f"Of the {count} runs with a coin {inside} came inside their forecasts, where "
            f"{0.95 * count:.0f} were due") in ONE_LINE
    with_a_coin = MEASURED[MEASURED["coin"].notna()].dropna(subset="signal")
    changes = adapters[adapters["coin"].notna()].groupby(["variant", "rate"])["change"]
    assert all(stats.ttest_1samp(of, 0).pvalue > 0.05 for _, of in changes)
    small = [stats.ttest_1samp(runs[part], 0).pvalue
             for _, runs in with_a_coin.groupby(figure.SETTING, dropna=False)
             for part in ("signal", "noise", "momentum", "mismatch")
             if on_the_page(runs[part]) != "0"]
    told = f"Of their {len(small)} parts that are not 0 the smallest p is {min(small):.3f},"
    assert told.replace(" 0.", " .") in ONE_LINE
    before = pick(MEASURED, panel="run", kind="approach", task="chain-sum")["reward"]
    flat = pick(adapters, kind="from flat")
    numbers = [before.mean(), before.min(), before.max(), flat["first"].mean()]
    told = [f"{value:.2f}".replace("0.", ".") for value in numbers]
    assert ("{} over the last ten steps, seed after seed {} to {}. From there entropy does not grow, at "
            "{} nats: it changes by " + on_the_page(flat["change"])).format(*told) in ONE_LINE


def test_an_account_leaves_its_run_as_it_is():
    """An adapter that starts elsewhere each time; a run of older code beside one of newer."""
    changes = MEASURED[MEASURED["panel"] == "run"].pivot_table(
        index=[*figure.SETTING, "seed"], columns="kind", values="change", dropna=False)
    both = changes[["run", "accounted"]].dropna()
    assert len(both) > 30
    assert (both["run"] == both["accounted"]).all()


def test_the_page_has_every_group_size():
    """A size that was taken for another, an interval of runs in place of seeds, or a count."""
    runs = pick(MEASURED, panel="run", kind="run", **figure.SHOWN, optimizer="AdamW", rate=2e-4,
                variant=["plain", *GROUPS])
    found = figure.compared(MEASURED, runs)
    assert len(found) == 8
    for row in found.to_dict("records"):
        of = runs[runs["variant"] == row["variant"]]
        size = GROUPS.get(row["variant"], {"samples": 8})["samples"]
        cells = [str(size), on_the_page(of["change"]), *forecast_on_the_page(row)]
        assert f"| {' | '.join(cells)} |" in PAGE, size
    means = runs.groupby("seed")["change"].mean()
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), means.sem())
    sizes = [GROUPS.get(variant, {"samples": 8})["samples"] for variant in runs["variant"]]
    found_rank = stats.spearmanr(sizes, runs["change"])
    assert (f"the change is {found_rank.statistic:+.2f}, with a p of {found_rank.pvalue:.2f} if"
            ).replace("0.", ".") in ONE_LINE
    assert f"{means.mean():+.3f} nats, with a 95 % interval of {low:+.3f} to {high:+.3f} over".replace(
        "0.", ".") in ONE_LINE
    assert f"Entropy rises in {(runs['change'] > 0).sum()} of {len(runs)} runs" in ONE_LINE
    assert f"Of {len(runs)} runs {found['inside'].sum()} came inside their forecasts" in ONE_LINE


def test_the_page_has_every_run_from_a_flat_reward():
    """A remedy that was run anew after the page, or with fewer seeds."""
    flat = pick(MEASURED, panel="run", kind="from flat", task="sum")
    assert set(flat["variant"]) == set(REMEDIES)
    for variant, runs in flat.groupby("variant"):
        assert len(runs) == 5
        row = f"| {FLAT_NAMES[variant]} | {on_the_page(runs['change'])} | {runs['reward'].mean():.2f} |"
        assert row.replace(" 0.", " .") in PAGE
    before = pick(MEASURED, panel="run", kind="approach", task="sum")["reward"].mean()
    assert f"Then {before:.2f} of the answers are right".replace(" 0.", " .") in ONE_LINE


def test_the_page_has_noise_by_optimizer_and_length_of_step():
    """Entropies of a step's own samples beside those at fixed states; steps that are called equal."""
    runs = figure.coins(MEASURED, **figure.SHOWN)
    base = pick(runs, optimizer="AdamW", rate=figure.MATCHED)["move"].mean()
    for (optimizer, rate), of in runs.groupby(["optimizer", "rate"], dropna=False):
        length = f"{of['move'].mean() / base:.2f}".replace("0.", ".")
        assert len(of) == 5
        assert f" | {length} | {on_the_page(of['change'])} |" in PAGE, (optimizer, rate)


def test_the_page_has_every_plain_setting_beside_its_forecast():
    """A row of another task, coin or rate, or a count of runs that came inside."""
    found, runs = figure.compared(MEASURED), figure.coins(MEASURED)
    small = rows = 0
    for row in found.to_dict("records"):
        of = pick(runs, **{name: None if pandas.isna(row[name]) else row[name]
                           for name in figure.SETTING})
        assert len(of) == 5
        if (row["task"], row["coin"]) == ("sum", 0.5):
            continue
        optimizer = OPTIMIZERS[row["optimizer"]]
        if row["optimizer"] == "AdamW":
            optimizer += f" at {round(row['rate'] * 1e4)}e-4"
        cells = [f"{row['task']}, {row['coin']:g}".replace("0.", "."), optimizer,
                 on_the_page(of["change"]), *forecast_on_the_page(row)]
        assert f"| {' | '.join(cells)} |" in PAGE, cells
        rows += 1
        small += stats.ttest_1samp(of["change"], 0).pvalue < 0.05
    assert (rows, len(found) - rows, small) == (12, 6, 1)
    adam = pick(runs, task="sum", coin=0.9, optimizer="AdamW")["change"]
    assert f"(p {stats.ttest_1samp(adam, 0).pvalue:.2f}), which".replace("0.", ".") in ONE_LINE
    due = 0.95 * found["seeds"].sum()
    inside = f"{found['inside'].sum()} of {found['seeds'].sum()}"
    assert f"{inside} runs came inside, where {due:.0f} were due" in ONE_LINE
    off = (found["came"] - found["walk"]).abs() / (found["spread"] / found["seeds"] ** 0.5)
    assert f"by {off.median():.1f} standard errors in the median" in ONE_LINE


def test_the_page_has_the_remedies_and_the_bonus():
    runs = pick(MEASURED, panel="run", kind="run", task="sum")
    under_a_coin = pick(runs, coin=0.5, optimizer="AdamW", rate=figure.MATCHED)
    plain = pick(under_a_coin, variant="plain").set_index("seed")["change"]
    for variant in REMEDIES:
        of = pick(under_a_coin, variant=variant)
        assert f"| {FLAT_NAMES[variant]} | {on_the_page(of['change'])} |" in PAGE, variant
        if variant != "plain":
            assert stats.ttest_1samp(of.set_index("seed")["change"] - plain, 0).pvalue > 0.4
    for (variant, optimizer), of in pick(runs, coin=1.0).groupby(["variant", "optimizer"]):
        assert len(of) == 5
        assert f"| {variant} | {optimizer} | {on_the_page(of['change'])} |" in PAGE, variant
    own = runs[runs["coin"].isna() & runs["variant"].isin(BONUS)].groupby("variant")["change"]
    both, none = (on_the_page(own.get_group(f"bonus {name}, KL .001")) for name in (".001", "0"))
    assert f"entropy changes by {both} with the first bonus, and by {none} without one" in ONE_LINE
