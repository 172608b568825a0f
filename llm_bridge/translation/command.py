"""The command that translates a training recipe from one engine to another."""

from __future__ import annotations

import json as json_text
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tyro

from entropy_theory.support import command_line
from entropy_theory.support.user_errors import lookup
from entropy_theory.update_rules import rule_options
from llm_bridge import translation
from llm_bridge.translation import files
from llm_bridge.translation.recipe import SETTINGS, Recipe, as_table, parts

OURS = "policy-entropy"
TRAIN = {"model": "model", "samples_per_prompt": "samples", "max_new_tokens": "max_new_tokens",
         "learning_rate": "learning_rate"}
"""Options of ``policy-entropy train`` by the settings of a recipe; the others are TRL's."""


def translate(
    recipe: tyro.conf.Positional[tuple[str, ...]],
    /,
    *,
    to: str | None = None,
    source: str | None = None,
    json: Path | None = None,
) -> int:
    """Show the loss that a training recipe really trains with, and write the recipe for another engine.

    examples:
      policy-entropy translate run_grpo.sh --to trl
      policy-entropy translate ppo_trainer.yaml actor_rollout_ref.actor.clip_ratio_high=0.28 --to skyrl
      policy-entropy translate grpo_config.json --source trl --to policy-entropy
      policy-entropy train --like run_grpo.sh --model small-sums --task split

    Args:
        recipe: a file in YAML, TOML or JSON, or a script that starts an engine, then options
            name=value that override it; or such options alone.
        to: the engine to write the recipe for: trl, verl, skyrl, openrlhf, slime, prime-rl, or
            policy-entropy.
        source: the engine that the recipe is for; by default the one that knows most of its options.
        json: write what was found to this file; "-" prints it.
    """
    if to is not None:
        lookup({**translation.ENGINES, OURS: None}, to, "engine")
    given = given_options(recipe)
    name = translation.recognized(given) if source is None else source
    found = translation.read(name, given)
    engine = translation.ENGINES[name]
    with command_line.json_output(json) as write:
        title = recipe[0] + " ..." * (len(recipe) > 1)
        print("\n".join(_described(f"{title} ({engine.name} {engine.version})", found, given)))
        record: dict[str, Any] = {
            "source": name, "rule": as_table(found.rule), "settings": found.settings,
            "by_default": found.by_default, "without_effect": found.without_effect}
        if to == OURS:
            print(f"\nthe same in {OURS}\n  {train_command(found)}")
        elif to is not None:
            options, lost = translation.write(to, found)
            other = translation.ENGINES[to]
            print(f"\nthe same for {other.name} {other.version}, where it differs from the defaults")
            print(as_options(options, other.style))
            print("nothing is lost" if not lost else "not carried over")
            print("\n".join(f"  {line}" for line in lost), end="\n" * bool(lost))
            record |= {"to": to, "options": options, "lost": lost}
        write(record)
    return 0


def given_options(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of a file, if the first word is one, under those of the other words.

    Raises:
        ValueError: no word, a file that cannot be read, or a word that is not an option.
    """
    if not words:
        raise ValueError("name a recipe, such as run_grpo.sh or config.yaml")
    named = "=" not in words[0]
    found = files.options_of(Path(words[0])) if named else {}
    for word in words[named:]:
        option = files.of_words([word])
        if not option:
            raise ValueError(f"{word} is not an option: write name=value")
        found |= option
    return found


def train_options(recipe: Recipe) -> dict[str, Any]:
    """Return what ``policy-entropy train`` is asked for to train so: options by their names."""
    table = as_table(recipe.rule)
    trl = tuple(f"{name}={value}" for name, value in recipe.settings.items()
                if name not in TRAIN and value != SETTINGS[name])
    asked: dict[str, Any] = {"rule": table["name"], "rule_options": rule_options.to_texts(table)}
    asked |= {option: recipe.settings[name] for name, option in TRAIN.items()
              if recipe.settings[name] is not None}
    return asked | ({"trl_options": trl} if trl else {})


def train_command(recipe: Recipe) -> str:
    """Return the command line of `train_options`."""
    words = ["policy-entropy", "train"]
    for name, value in train_options(recipe).items():
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(words)


def as_options(options: Mapping[str, Any], style: str) -> str:
    """Write options as an engine takes them."""
    if style == "json":
        return json_text.dumps(options, indent=2)
    if style == "flags":
        lines = []
        for name, value in options.items():
            values = {True: [], False: None}.get(value, [value]) if not isinstance(value, list) else value
            if values is not None:  # a switch that is off is not written
                flag = name if "." in name else name.replace("_", "-")
                lines.append(" ".join(map(str, [f"--{flag}", *values])))
    elif style == "toml":
        lines = [f"{name} = {json_text.dumps(value)}" for name, value in options.items()]
    else:
        lines = [f"{name}={value}" for name, value in options.items()]
    return "\n".join(f"  {line}" for line in lines)


def _described(title: str, found: Recipe, given: Mapping[str, Any]) -> list[str]:
    lines = [title]
    for place, (name, part) in enumerate(reversed(parts(found.rule).items())):
        own = as_table(part)
        own.pop("base", None)
        options = " ".join(rule_options.to_texts(own))
        lines.append(f"  {'loss' if place == 0 else 'with':10}{name}{'  ' * bool(options)}{options}")
    settings = " ".join(f"{name}={value}" for name, value in found.settings.items()
                        if value is not None and (name == "temperature" or value != SETTINGS[name]))
    lines.append(f"  {'samples':10}{settings}")
    lines += [f"  {'unasked':10}{each}: the engine's default" for each in found.by_default]
    lines += [f"  {'no effect':10}{name}={given.get(name, given.get('+' + name))}: not read under the "
              "other options" for name in found.without_effect]
    return lines
