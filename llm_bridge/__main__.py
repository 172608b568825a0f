"""The command line: python -m llm_bridge train | evaluate | audit | sample | compare."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entropy_theory.support import command_line
from entropy_theory.support.command_line import Command
from entropy_theory.support.results import check_writable
from entropy_theory.support.user_errors import need, run_command

EXAMPLES = (
    "python -m llm_bridge train --task split --rule grpo --steps 160 --output runs/grpo",
    "python -m llm_bridge train --rule aepo --rule-options alpha=3 target=0.6 --output runs/aepo",
    "python -m llm_bridge train --rule clip-cov --rule-options ratio=0.002 base.clip-high=1",
    "python -m llm_bridge train --rule kl-cov --rule-options ratio=0.02 --iterations 2",
    "python -m llm_bridge train --config mine.toml --seed 3 --log-to wandb",
    "python -m llm_bridge audit --model smollm2-135m-instruct --task chain-sum --steps 4",
    "python -m llm_bridge audit --optimizer sgd --learning-rate 1e-3 --max-grad-norm 0",
    "python -m llm_bridge evaluate --model runs/aepo/model --task split",
    "python -m llm_bridge evaluate --model owner/name --task aime24 --protocol entropy-mechanism",
    "python -m llm_bridge compare runs/grpo runs/aepo",
    "python -m llm_bridge sample --model runs/aepo/model --task split --temperature 1.2",
    "python -m llm_bridge train --model owner/name --data mine.jsonl --reward my_rewards.py:score",
    "python -m llm_bridge train --rule my_rules.py:Thrifty --rule-options rate=0.3",
    "python -m llm_bridge train --recipe gpu-small/grpo:split-grpo-seed0 --steps 100",
    "python -m llm_bridge.recipes list",
    "torchrun --nproc-per-node 8 -m llm_bridge train --model owner/name --prompts 64",
)
TRAIN = """\
{what}

A run in a file (--config, or --recipe for one of the package's) has the tables [rule] with name and
options, [train] with the options below, and [trl]. Options on the command line override the file's, rule
and TRL options one by one.

examples:
  {prog} --rule aepo --rule-options alpha=3 target=0.6
  {prog} --config mine.toml --seed 3
  {prog} --recipe gpu-small/grpo:split-grpo-seed0 --steps 100
"""
EVALUATE = """\
{what}

Processes of a launcher, one for each GPU, divide the completions, each with the whole model. How many
they are changes no number. A killed command goes on from the samples beside its output, on any number of
processes.

examples:
  {prog} --model runs/aepo/model --task split --output found.json
  {prog} --model owner/name --task aime24 --protocol aepo-pass-at-k --sampler vllm --dry-run
  torchrun --nproc-per-node 8 -m llm_bridge evaluate --model owner/name --task aime24 --output found.json
"""
KEPT = "steps up to the last checkpoint are kept, and the same command goes on from there"


def main() -> int:
    """Parse the command line, run the command, and return the exit status."""
    return command_line.run(
        "python -m llm_bridge", "Everything runs on a CPU and without a network, except that "
        "smollm2-135m-instruct is fetched once.", COMMANDS, EXAMPLES)


def train(arguments: list[str], prog: str = "python -m llm_bridge train") -> None:
    """Train, and print where the run lies and how it ended."""
    from llm_bridge.commands.train_config import TrainConfig

    _train(TrainConfig, arguments, prog)


def audit(arguments: list[str], prog: str = "python -m llm_bridge audit") -> None:
    """Audit a few steps, print how the forecasts did, and write its page."""
    from entropy_theory.support.pages import MODULES
    from llm_bridge.commands.train_config import AuditConfig

    _train(AuditConfig, arguments, prog, _complete_audit, MODULES)


def _complete_audit(found: dict[str, Any]) -> None:
    """Make the tables and the page of a finished audit, and print where it lies."""
    import transformers

    from llm_bridge.analysis import audit_pages
    from llm_bridge.data import models

    run = Path(found["output"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(models.locate(found["options"]["model"]))
    completed = audit_pages.complete(run, lambda token: str(tokenizer.decode([token])))
    if completed["kernel"] is not None:
        shape, rungs = completed["kernel"]["steps"][0], completed["kernel"]["rungs"]
        print(
            f"logit gradients: diagonal {shape['diagonal']:.3g} with spread "
            f"{shape['diagonal_spread']:.0%}, off-diagonal {shape['within_state']:.0%} of it "
            f"within a state and {shape['across_states']:.0%} across states; unexplained entropy "
            "change "
            + ", ".join(f"{name} {rung['unexplained']:.0%}" for name, rung in rungs.items())
        )
    print(f"page: {run / 'audit.html'}")


def _train(
    kind: Any, arguments: list[str], prog: str,
    complete: Callable[[dict[str, Any]], None] = lambda found: None, modules: tuple[str, ...] = (),
) -> None:
    """Train; the main process tells what the run found, and gives it to ``complete``.

    Args:
        kind: the class of the options.
        arguments: of the command line.
        prog: the command, as the user wrote it.
        complete: what is done with what the run found.
        modules: what ``complete`` needs to be installed.
    """
    from llm_bridge.commands.train_config import resolved
    from llm_bridge.data import tasks
    from llm_bridge.running.launched import main_speaks, world_size

    # What can be refused without torch is: it takes seconds to import.
    with main_speaks():
        config = _config(kind, arguments, prog)
        need(f"'{prog}'", "torch", "transformers", "trl", *modules)
        run = resolved(config, world=world_size())
        if config.data is not None:
            tasks.load(str(config.data))
        if config.dry_run:
            from llm_bridge.commands import dry_run

            _show_plan(dry_run.plan(run), config.json)
            return
        if config.json is not None and str(config.json) != "-":
            check_writable(config.json)
    import transformers

    from llm_bridge.commands import train as training
    from llm_bridge.running import ranks
    from llm_bridge.trainer.entropy_trainer import InertRuleWarning

    transformers.utils.logging.set_verbosity_error()
    with (command_line.json_output(config.json) as write, ranks.report_once(), warnings.catch_warnings(),
          command_line.keeping(KEPT if config.save_every != 0 else "")):
        warnings.showwarning = _in_one_line(warnings.showwarning, InertRuleWarning)
        found = training.train(run)
        if ranks.is_main():
            _report(found)
            complete(found)
            write(found)
        ranks.leave()


def _show_plan(plan: str, json: Path | None) -> None:
    with command_line.json_output(json) as write:
        print(plan)
        write({"plan": plan.splitlines()})


def _config(kind: Any, arguments: list[str], prog: str) -> Any:
    """Read the options, on top of those of a recipe or a config file if one is named."""
    described = TRAIN.format(what=kind.__doc__, prog=prog)
    named = command_line.parse(kind, arguments, prog=prog, description=described)
    for option in ("rule_options", "trl_options"):
        _check_given_once(option, getattr(named, option))
    if sum(each is not None for each in (named.config, named.recipe, named.like)) > 1:
        raise ValueError("--config, --recipe and --like each give all options: name one of them")
    if named.like is not None:
        below = kind(**_like(named.like))
    elif named.config is None and named.recipe is None:
        if named.launcher is not None:
            raise ValueError("--launcher goes with --recipe: name a recipe, or leave it out")
        return named
    else:
        from llm_bridge import recipes

        if named.config is not None and named.config.suffix != ".toml":
            raise ValueError(f"--config must be a TOML file, got {named.config}: name it *.toml")
        below, _ = recipes.run(str(named.config or named.recipe), launcher=named.launcher)
    if not isinstance(below, kind):  # an audit of a training run's options
        own = {field.name: getattr(below, field.name) for field in dataclasses.fields(below)
               if getattr(below, field.name) != field.default}
        below = kind(**own)
    config = command_line.parse(kind, arguments, prog=prog, default=below)
    merged = {}
    if config.rule_options != below.rule_options and config.rule == below.rule:
        merged["rule_options"] = (*below.rule_options, *config.rule_options)
    elif config.rule != below.rule and config.rule_options == below.rule_options:
        merged["rule_options"] = ()  # those of another rule
    if config.trl_options != below.trl_options:
        merged["trl_options"] = (*below.trl_options, *config.trl_options)
    return dataclasses.replace(config, **merged)


def _like(path: Path) -> dict[str, Any]:
    """Return the options of a run that trains as another engine's recipe does, and print what that is."""
    from llm_bridge import translation
    from llm_bridge.translation.command import train_command, train_options
    from llm_bridge.translation.files import options_of

    given = options_of(path)
    found = translation.read(translation.recognized(given), given)
    print(f"like {path}: {train_command(found)}", file=sys.stderr)
    return train_options(found)


def _check_given_once(option: str, texts: tuple[str, ...]) -> None:
    """Raise ValueError for a name given twice on the command line, where only the last would count.

    A name that a file gives too is overridden on purpose.
    """
    names = [text.partition("=")[0].replace("-", "_") for text in texts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"--{option.replace('_', '-')} gives {name} twice: leave one out")


def _in_one_line(show: Any, kind: type[Warning]) -> Any:
    """Show warnings of a kind as a sentence, without the line of code that gave them."""

    def shown(message: Any, category: Any, *where: Any, **options: Any) -> None:
        if issubclass(category, kind):
            print(f"warning: {message}", file=sys.stderr)
        else:
            show(message, category, *where, **options)

    return shown


def evaluate(arguments: list[str], prog: str = "python -m llm_bridge evaluate") -> None:
    """Evaluate a model on a task."""
    from llm_bridge.running.launched import main_speaks, world_size
    from llm_bridge.sampling.drawing_options import EvaluateConfig

    with main_speaks():
        described = EVALUATE.format(what=EvaluateConfig.__doc__, prog=prog)
        config = command_line.parse(EvaluateConfig, arguments, prog=prog, description=described)
        config.check()
        need(f"'{prog}'", "torch", "transformers", "trl")
        if config.dry_run:
            from llm_bridge.commands import evaluation_plan

            _show_plan(evaluation_plan.plan(config, world=world_size()), config.json)
            return
        if config.json is not None and str(config.json) != "-":
            check_writable(config.json)
    from llm_bridge import evaluation
    from llm_bridge.running import ranks

    kept = config.output and "finished prompts are kept, and the same command goes on from them"
    with (command_line.json_output(config.json) as write, ranks.report_once(),
          command_line.keeping(kept or "")):
        found = evaluation.evaluate_command(config)
        if ranks.is_main():
            write(found)
        ranks.leave()


def sample(arguments: list[str], prog: str = "python -m llm_bridge sample") -> None:
    """Draw completions."""
    from llm_bridge.running.launched import main_speaks, world_size
    from llm_bridge.sampling.drawing_options import SampleConfig

    with main_speaks():
        config = command_line.parse(SampleConfig, arguments, prog=prog)
        if world_size() > 1:
            raise ValueError("sample runs in one process: start it without a launcher")
        config.check()
        need(f"'{prog}'", "torch", "transformers", "trl")
    from llm_bridge.sampling import sampling

    with command_line.json_output(config.json) as write:
        write(sampling.sample_command(config))


def compare(arguments: list[str], prog: str = "python -m llm_bridge compare") -> None:
    """Put training runs side by side."""
    from llm_bridge.analysis import comparison

    config = command_line.parse(comparison.CompareConfig, arguments, prog=prog)
    with command_line.json_output(config.json) as write:
        write(comparison.compare_command(config))


COMMANDS = {
    name: Command(place=f"{__name__}:{name}", summary=summary, parses=True)
    for name, summary in (
        ("train", "train a model with an update rule"),
        ("audit", "forecast and measured entropy change, step by step"),
        ("evaluate", "pass@1 and unbiased pass@k"),
        ("sample", "draw completions and judge them"),
        ("compare", "training runs side by side"),
    )
}


def _report(found: dict[str, Any]) -> None:
    closing = found["closing"]
    print(f"run: {found['output']}")
    print(
        f"last tenth: reward {closing['reward']:.3f} ({found['constant_answer_reward']:.3f} for a "
        f"constant answer), entropy {closing['entropy']:.3f} nats/token, "
        f"{closing['distinct_answers']:.1f} distinct answers of {found['options']['samples']}, "
        f"{closing['seconds']:.2f} s/step"
    )
    if "audit" in found:
        of_steps, of_tokens = found["audit"]["steps"], found["audit"]["tokens"]
        for level, summary in (("steps", of_steps), ("tokens", of_tokens)):
            correlation = summary["correlation"]
            print(
                f"audit, {summary['steps']} {level}: correlation with the measured entropy change "
                f"(i) {correlation['coefficients']:.3f}, (ii) {correlation['first_order']:.3f}, "
                f"(iii) {correlation['exact']:.6f}"
                + "".join(
                    f", {label} {correlation[column]:.3f} (slope {summary['slope'][column]:.3g})"
                    for label, column in (("(i')", "entropy_gradient"), ("accounted", "accounted"))
                    if column in correlation
                )
                + f"; larger error {summary['dominant']}, identity holds to "
                  f"{summary['identity_error']:.1e}"
            )
        divided = "; ".join(
            ", ".join(f"{name.replace('_', ' ')} {value:+.3g}" for name, value in parts.items())
            for parts in found["audit"].get("divided", {}).values() if parts
        )
        if divided:
            print(f"entropy moved by (nats, all steps): {divided}")


if __name__ == "__main__":
    run_command(main)
