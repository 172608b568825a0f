"""Recipes: the papers' experiments as TOML files, at their own size and at a size for one GPU.

::

    gpu-small/    SmolLM2-135M and the small sum models: minutes a run on one GPU
    paper/        the published sizes, with the place of every number
    launchers/    how many processes, on how many machines, and who samples

A file (those that begin with ``_`` are only to be built on) has these tables. A user's own, for
``train --config``, needs none of them: what it leaves out is as without it. Keys may have hyphens::

    title, source       what is run, and where its settings are printed
    minutes             what a run may take, as a guess, on the machine that it is for
    like                a file of the same folder whose tables are the defaults of this one's
    launcher            a file of launchers/
    [train]             options of `llm_bridge.commands.train.TrainConfig`
    [rule]              name, and the rule's own options; [rule.base] the same of the rule it modifies
    [trl]               further options of TRL's GRPOConfig
    [data]              a data set of the hub, and its columns, for `llm_bridge.recipes.hub_data`
    [vary]              "table.key" = [values]: a run for each combination; "like" may vary too

Every key and value is checked when a file is read: a ValueError names what is unknown, and the
nearest name.

>>> from llm_bridge import recipes
>>> runs = recipes.load("gpu-small/aepo-targets").runs
"""

from __future__ import annotations

import dataclasses
import itertools
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entropy_theory.support.typed_values import checked, read_toml
from entropy_theory.support.user_errors import check_choice, lookup
from entropy_theory.update_rules import rule_options
from llm_bridge.commands.train_config import TrainConfig, parse_trl_options
from llm_bridge.recipes.launcher import Launcher

FOLDER = Path(__file__).parent
DEFAULT_RULE = TrainConfig().rule
TABLES = ("train", "rule", "trl", "data", "vary")
NAMED = ("title", "source", "minutes", "like", "launcher")
ELSEWHERE = {"rule": "[rule] name", "rule_options": "[rule]", "trl_options": "[trl]",
             "config": "the command line", "recipe": "the command line", "launcher": "launcher, the key",
             "output": "the command line", "micro_batches": "rows_at_once in a launcher"}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class HubData:
    """A data set of the Hugging Face hub, and how a line of it becomes a prompt and its answer."""

    name: str
    """The name on the hub, such as owner/name."""
    subset: str | None = None
    """The hub's name for a part of it ("config"); None where there is only one."""
    split: str = "train"
    prompt: str = "problem"
    """Column of the prompt; dots lead into lists and dictionaries, as in prompt.0.content."""
    answer: str = "answer"
    """Column of the right answer."""
    boxed: bool = False
    """Whether the answer is what stands in the column's last \\boxed{...}."""
    instruction: str = ""
    """Text that is put after each prompt."""
    size: int | None = None
    """How many lines to keep, from the beginning; None keeps all."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The runs that a recipe file describes."""

    name: str
    """The recipe's folder and file, such as gpu-small/grpo."""
    title: str
    source: str
    minutes: float
    """About how long each run takes."""
    launcher: Launcher
    data: HubData | None
    runs: dict[str, TrainConfig]
    """The runs by name, such as split-aepo-targets-target0.25-seed0; checked, without output folder."""


def names(folder: str | None = None) -> list[str]:
    """Return the names of all recipes, or of those in a folder, sorted."""
    found = sorted(FOLDER.glob("*/*.toml"))
    return [
        f"{path.parent.name}/{path.stem}" for path in found
        if path.parent.name != "launchers" and not path.stem.startswith("_")
        and folder in (None, path.parent.name)
    ]


def listed(folder: str | None = None) -> Iterator[tuple[str, str, str, int]]:
    """Yield (name, source, title, number of runs) of each recipe, unchecked."""
    for name in names(folder):
        path = FOLDER / f"{name}.toml"
        tables = _read(path)
        variants = list(_variants(tables.pop("vary", {}), path))
        filled = _filled(_changed(tables, variants[0][1]), path)
        yield name, filled["source"], filled["title"], len(variants)


def load(name: str, *, launcher: str | None = None) -> Recipe:
    """Load a recipe by its name, or from a user's own .toml file.

    Args:
        launcher: a file of launchers/ in place of the recipe's own.

    Raises:
        ValueError: an unknown recipe, key, rule or option, or a value of the wrong kind; the message
            names the file and the nearest known name.
    """
    path = Path(name)
    if path.suffix != ".toml":
        known = {known: FOLDER / f"{known}.toml" for known in names()}
        path = lookup(known, name, "recipe")
    else:
        name = path.stem
    tables = _read(path)
    variants = list(_variants(tables.pop("vary", {}), path))
    runs, recipes = {}, []
    for suffix, changes in variants:
        filled = _filled(_changed(tables, changes), path)
        prefix = f"{changes['like'].lstrip('_')}-" if "like" in changes else ""
        if launcher is not None:
            filled["launcher"] = launcher
        recipe, config = _recipe(name, filled, path)
        recipes.append(recipe)
        runs[prefix + path.stem + suffix] = config
    return dataclasses.replace(recipes[0], runs=runs)


def run(name: str, *, launcher: str | None = None) -> tuple[TrainConfig, Recipe]:
    """Load one run, named by a recipe that has only one, or as RECIPE:RUN.

    Raises ValueError for an unknown recipe or run, or where RUN is missing and there are several.
    """
    recipe_name, _, wanted = name.partition(":")
    recipe = load(recipe_name, launcher=launcher)
    if not wanted and len(recipe.runs) > 1:
        raise ValueError(
            f"recipe '{recipe_name}' has {len(recipe.runs)} runs: name one, as in "
            f"{recipe_name}:{next(iter(recipe.runs))}"
        )
    wanted = wanted or next(iter(recipe.runs))
    return lookup(recipe.runs, wanted, f"run of recipe '{recipe_name}':"), recipe


def shrunk(config: TrainConfig, *, model: str = "small-sums") -> TrainConfig:
    """Return the run as a rehearsal of seconds on a CPU, with a small model, task, sampler and launcher.

    It takes two steps. The rule and its options, mini-batches, iterations, number format and all other
    options of TRL are the run's own.
    """
    own = tuple(
        text for text in config.trl_options if not text.startswith(("use_vllm", "vllm_"))
    )
    return dataclasses.replace(
        config, model=model, task="split", data=None, chat_template=False, reward=None, prompts=2,
        samples=4, max_new_tokens=6, learning_rate=1e-4, micro_batches=1, trl_options=own,
        audit_every=min(config.audit_every, 2),
        steps=min(config.steps, 2), save_every=0, save_model=False, log_to="none", device="cpu",
    )


def launchers() -> list[str]:
    """Return the names of the launcher files."""
    return sorted(path.stem for path in (FOLDER / "launchers").glob("*.toml"))


def _recipe(name: str, filled: dict[str, Any], path: Path) -> tuple[Recipe, TrainConfig]:
    where = _called(path)
    for key in ("title", "source", "rule", "train") if _is_ours(path) else ():
        if key not in filled:
            raise ValueError(f"{where}: {key} is missing")
    filled = {"title": name, "source": path.name, "train": {}, "rule": {"name": DEFAULT_RULE}, **filled}
    named = {"title": str, "source": str, "minutes": float, "launcher": str}
    kinds = {key: kind for key, kind in named.items() if key in filled}
    own = checked(kinds, {key: filled[key] for key in kinds}, where)
    started = _launcher(own.get("launcher"))
    data = None
    if "data" in filled:
        columns = checked(_kinds(HubData), filled["data"], f"{where}, [data]")
        if "name" not in columns:
            raise ValueError(f"{where}, [data]: name is missing, that of a data set on the hub")
        data = HubData(**columns)
    trl = tuple(f"{key}={_text(value)}" for key, value in filled.get("trl", {}).items())
    config = _config(filled, (*trl, *started.trl_options()), where)
    rows_at_once = started.rows_at_once
    if rows_at_once is not None:
        assert config.prompts is not None
        rows = config.prompts * config.samples
        pieces, rest = divmod(rows, rows_at_once * started.world)
        if rest:
            raise ValueError(
                f"{where}: {rows} completions per step are not a multiple of {started.world} "
                f"processes x rows_at_once {rows_at_once}: choose another launcher"
            )
        config = dataclasses.replace(config, micro_batches=pieces)
    recipe = Recipe(
        name=name, title=own["title"], source=own["source"], minutes=own.get("minutes", 1.0),
        launcher=started, data=data, runs={},
    )
    return recipe, config


def _config(filled: dict[str, Any], trl: tuple[str, ...], where: str) -> TrainConfig:
    kinds = {key: kind for key, kind in _kinds(TrainConfig).items() if key not in ELSEWHERE}
    for key in filled["train"]:
        if key in ELSEWHERE:
            raise ValueError(f"{where}, [train]: {key} is not set here but by {ELSEWHERE[key]}")
    options = checked(kinds, filled["train"], f"{where}, [train]")
    try:
        rule_options.from_table(filled["rule"])
        parse_trl_options(trl)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return TrainConfig(
        **options, rule=filled["rule"]["name"], rule_options=rule_options.to_texts(filled["rule"]),
        trl_options=trl)


def _launcher(name: str | None) -> Launcher:
    if name is None:
        return Launcher()
    known = {known: FOLDER / "launchers" / f"{known}.toml" for known in launchers()}
    path = lookup(known, name, "launcher")
    kinds = {key: kind for key, kind in _kinds(Launcher).items() if key != "name"}
    return Launcher(name=name, **checked(kinds, read_toml(path, "a launcher"), f"launcher {path.name}"))


def _read(path: Path) -> dict[str, Any]:
    tables = read_toml(path, "a TOML file")
    for key, value in tables.items():
        check_choice(key, (*NAMED, *TABLES), f"key of {_called(path)}:")
        if key in TABLES:
            if not isinstance(value, dict):
                raise ValueError(f"{_called(path)}: {key} must be a table, as in [{key}]")
            tables[key] = _underscored(value, f"{_called(path)}, [{key}]")
    return tables


def _underscored(table: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a table, and those in it, with keys as Python writes them."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in found:
            raise ValueError(f"{where}: {name} is given twice, as {key} too: leave one out")
        found[name] = _underscored(value, f"{where}, {key}") if isinstance(value, dict) else value
    return found


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(FOLDER)


def _called(path: Path) -> str:
    return f"{'recipe' if _is_ours(path) else 'config file'} {path.name}"


def _filled(tables: dict[str, Any], path: Path) -> dict[str, Any]:
    """Fill up the tables with those of the file that they are ``like``."""
    like = tables.pop("like", None)
    if like is None:
        return tables
    below_path = path.with_name(f"{like}.toml")
    if not below_path.is_file():
        known = (p.stem for p in path.parent.glob("*.toml"))
        check_choice(like, known, f"recipe that {path.name} is like:")
    below = _filled(_read(below_path), below_path)
    merged = {**below, **tables}
    for table in ("train", "rule", "trl", "data"):
        if table in below and table in tables:
            merged[table] = {**below[table], **tables[table]}
    return merged


def _variants(vary: dict[str, Any], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (ending of the name, changes) of each combination, the first key changing slowest."""
    for key, values in vary.items():
        table = key.partition(".")[0]
        check_choice(table, ("like", "train", "rule", "trl"), f"table to vary in {path.name}:")
        if not isinstance(values, list) or not values:
            raise ValueError(f"{_called(path)}, [vary]: {key} must be a list of values")
        for value in values:
            if not isinstance(value, (str, int, float)):
                raise ValueError(f"{_called(path)}, [vary]: {key} must be a list of numbers, texts, "
                                 f"true or false, got {value!r} in it")
    for chosen in itertools.product(*vary.values()):
        changes = dict(zip(vary, chosen, strict=True))
        yield "".join(_ending(key, value) for key, value in changes.items() if key != "like"), changes


def _ending(key: str, value: Any) -> str:
    if key in ("train.model", "train.task") or isinstance(value, str):
        return "-" + str(value).rpartition("/")[2].replace(":", "-")
    return f"-{key.rpartition('.')[2].replace('_', '-')}{value:g}"


def _changed(tables: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in tables.items()
    }
    for key, value in changes.items():
        *way, last = key.split(".")
        place = changed
        for step in way:
            place[step] = dict(place.get(step, {}))
            place = place[step]
        place[last] = value
    return changed


def _kinds(config: type) -> dict[str, Any]:
    return typing.get_type_hints(config)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
