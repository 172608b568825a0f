"""AEPO, Table 4: implementation settings, and where paper and code differ.

Beside it are the settings of two recipes, to rerun the paper and for a single GPU, and the rules'
defaults. All are read from their files. Last come the differences of the authors' code.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pandas

from entropy_theory.update_rules.aepo import Aepo
from entropy_theory.update_rules.entropy_advantage import EntropyAdvantage
from entropy_theory.update_rules.modifier import clip_bounds
from llm_bridge.data import benchmarks
from paper_figures.data import inputs, paper_numbers
from paper_figures.drawing import Table
from paper_figures.figure import PRINTED_NUMBERS, Criterion, Finding, Headline, PaperFigure

FULL, SMALL, DEFAULT = "full-size recipes", "recipe for one GPU", "default of the rule"
COLUMNS = ["setting", "paper", "printed", FULL, SMALL, DEFAULT]
NONE = "–"


def data(results: Path) -> pandas.DataFrame:
    """Return a tidy table with columns COLUMNS, one row for each setting.

    Values are text, "–" where there is none. ``paper`` is the value that belongs to the setting,
    ``printed`` what stands beside it in the text.
    """
    inputs.recipes()
    rows = paper_numbers.read(__file__)["settings"].rows
    table = pandas.DataFrame(rows, columns=["setting", "paper", "printed"])
    for column, values in ((FULL, _full()), (SMALL, _small()), (DEFAULT, _defaults())):
        table[column] = [values.get(name, NONE) for name in table["setting"]]
    return table


def _recipe(name: str) -> dict[str, Any]:
    """Read the tables of a recipe, on top of those of the file that it is ``like``.

    They are read unchecked: `llm_bridge.recipes.load`, which checks them, needs torch.
    """
    path = inputs.BRIDGE / "recipes" / f"{name}.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    like = tables.pop("like", None)
    below = _recipe(f"{path.parent.name}/{like}") if like else {}
    own = {key: {**below.get(key, {}), **value} if isinstance(value, dict) else value
           for key, value in tables.items()}
    return {**below, **own}


def _training(recipe: dict[str, Any]) -> dict[str, str]:
    """Return the settings that every recipe makes."""
    train = recipe["train"]
    prompts = train["prompts"]
    return {
        "Maximum response length": str(train.get("max_new_tokens", "the task's")),
        "Rollout batch size": str(prompts * train.get("mini_batches", 1)),
        "Mini-batch size": str(prompts),
        "Rollout group size G": str(train["samples"]),
        "Sampling temperature": f"{recipe.get('trl', {}).get('temperature', 1.0):.1f}",  # TRL's default
        "Learning rate": f"{train['learning_rate']:g}".replace("e-0", "e-"),
        "Reward": train.get("reward", "binary"),
    }


def _of_aepo(rule: dict[str, Any]) -> dict[str, str]:
    low, high = clip_bounds(Aepo())
    base = rule.get("base", {})
    return {
        "Clip range, low and high": _clips(base.get("clip_low", low), base.get("clip_high", high)),
        "$T_{high}$": f"{rule['temperature_high']:g}", "$T_{low}$": f"{rule['temperature_low']:g}",
        "alpha": f"{rule['alpha']:g}",
    }


def _clips(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} and {high:g}"


def _full() -> dict[str, str]:
    """Return the settings of the recipes paper/aepo-*, and those of the protocols of evaluation."""
    targets, code, bonus, shaped = (
        _recipe(f"paper/aepo-{name}")
        for name in ("targets", "code", "entropy-reg", "entropy-advantage"))
    launcher = tomllib.loads(
        (inputs.BRIDGE / "recipes" / "launchers" / f"{targets['launcher']}.toml").read_text("utf-8"))
    one, many = (benchmarks.protocol(name, "math500") for name in ("aepo", "aepo-pass-at-k"))
    rows = code["rule"]["replaced_rows"]
    return {
        "GPUs": str(launcher["machines"] * launcher["processes_each"]),
        **_training(targets), **_of_aepo(targets["rule"]),
        "Target entropy (nats)": f"{code['rule']['target']:g}",
        "Right answers added, entropy up": str(rows),
        "Right answers added, entropy down": str(rows // 2),
        "Entropy-Reg lambda": f"{bonus['rule']['coefficient']:g}",
        **{f"Entropy-Adv {name}": f"{shaped['rule'][name]:g}" for name in ("beta", "kappa")},
        "Evaluation: maximum response length": str(one.max_new_tokens),
        "Evaluation: top-p": f"{one.top_p:g}",
        "Evaluation: temperature, pass@1": f"{one.temperature:g}",
        "Evaluation: temperature, pass@k": f"{many.temperature:.1f}",
    }


def _small() -> dict[str, str]:
    """Return the settings of gpu-small/aepo-targets on the first of its tasks."""
    recipe = _recipe("gpu-small/aepo-targets")
    task = _recipe(f"gpu-small/{recipe['vary']['like'][0]}")
    return {"GPUs": "1", **_training({**task, "train": {**task["train"], **recipe["train"]}}),
            **_of_aepo(recipe["rule"]),
            "Target entropy (nats)": ", ".join(f"{t:g}" for t in recipe["vary"]["rule.target"])}


def _defaults() -> dict[str, str]:
    """Return the defaults of the rules."""
    aepo = Aepo()
    shaped = EntropyAdvantage()
    return {
        "Clip range, low and high": _clips(*clip_bounds(aepo)),
        "$T_{high}$": f"{aepo.temperature_high:g}", "$T_{low}$": f"{aepo.temperature_low:g}",
        "alpha": f"{aepo.alpha:g}", "Target entropy (nats)": f"{aepo.target:g}",
        "Right answers added, entropy up": str(aepo.replaced_rows),
        "Right answers added, entropy down": str(aepo.replaced_rows // 2),
        "Entropy-Adv beta": f"{shaped.beta:g}", "Entropy-Adv kappa": f"{shaped.kappa:g}",
    }


def same(one: str, other: str) -> bool:
    """Whether two values are equal as numbers, or as text where they are none."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def finding(table: pandas.DataFrame) -> Finding:
    """State how many settings of the full-size recipes are the paper's, and how many values slipped."""
    printed = table[table["paper"] != NONE]
    other = sum(not same(*pair) for pair in zip(printed["paper"], printed[FULL], strict=True))
    slipped = sum(not same(*pair) for pair in zip(table["paper"], table["printed"], strict=True))
    return Finding(standing="for reference", model=PRINTED_NUMBERS, criteria=(
        Criterion("printed settings that the full-size recipes do not have", float(other), "≤", 0),
        Criterion("printed settings that have another value in the paper's text", float(slipped), ">",
                  0),
    ))


def tables(table: pandas.DataFrame) -> list[Table]:
    """Return the paper's settings, ours, and what the authors' code does otherwise."""
    paper = paper_numbers.read(__file__)
    ours = Table(
        title="The same settings here", header=("Setting", FULL, SMALL, DEFAULT),
        rows=tuple(table[["setting", FULL, SMALL, DEFAULT]].itertuples(index=False, name=None)),
        origin="ours",
        note="Recipes paper/aepo-* and gpu-small/aepo-targets (on its first task); evaluation by the "
        "protocols aepo and aepo-pass-at-k.",
    )
    block = paper["code"].printed()
    code = dataclasses.replace(
        block, origin="ours",
        note="Not printed in the paper: read by us in the authors' code. " + block.note)
    return [paper["settings"].printed(), ours, code]


FIGURE = PaperFigure.of(
    __name__, name="aepo-table-4",
    source="AEPO, Table 4",
    title="implementation settings",
    paper="These are the settings of all experiments.",
    place="Table 4, Appendix A",
    ours="The settings of the recipes and the rules' defaults, read from their files; what the authors' "
    "code does otherwise.",
    headline=Headline(
        says="The full-size recipes have all of the printed settings; some of them have another "
             "value in the paper's text.",
    ),
    recipes=("paper/aepo-targets", "paper/aepo-code", "paper/aepo-grpo", "paper/aepo-entropy-reg",
             "paper/aepo-entropy-advantage", "paper/aepo-ablations", "gpu-small/aepo-targets"),
)
