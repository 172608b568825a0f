"""The command line: python -m llm_bridge train | evaluate | audit | sample | compare."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

USAGE = """\
usage: python -m llm_bridge COMMAND [OPTIONS]

  train      train a model with an update rule (--dry-run: say what it will take)
  audit      forecast and measured entropy change, step by step
  evaluate   pass@1 and unbiased pass@k
  sample     draw completions and judge them
  compare    training runs side by side

COMMAND --help lists its options. Everything runs on a CPU and without a network, except that
smollm2-135m-instruct is fetched once.

examples:
  python -m llm_bridge train --task split --rule grpo --steps 160 --output runs/grpo
  python -m llm_bridge train --rule aepo --rule-options alpha=3 target=0.6 --output runs/aepo
  python -m llm_bridge train --rule clip-cov --rule-options ratio=0.002 base.clip_high=1
  python -m llm_bridge train --rule kl-cov --rule-options ratio=0.02 --iterations 2
  python -m llm_bridge audit --model smollm2-135m-instruct --task chain-sum --steps 4
  python -m llm_bridge audit --optimizer sgd --learning-rate 1e-3 --max-grad-norm 0
  python -m llm_bridge evaluate --model runs/aepo/model --task split
  python -m llm_bridge evaluate --model owner/name --task aime24 --protocol entropy-mechanism
  python -m llm_bridge compare runs/grpo runs/aepo
  python -m llm_bridge sample --model runs/aepo/model --task split --temperature 1.2
  python -m llm_bridge train --model owner/name --data mine.jsonl --reward my_rewards.py:score
  python -m llm_bridge train --rule my_rules.py:Thrifty --rule-options rate=0.3
  python -m llm_bridge train --recipe gpu-small/grpo:split-grpo-seed0 --steps 100
  python -m llm_bridge.recipes list
  torchrun --nproc-per-node 8 -m llm_bridge train --model owner/name --prompts 64
"""


def main() -> int:
    """Parse the command line, run the command, and return the exit status."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    # torch and transformers take seconds to import: only once it is known what for.
    from entropy_theory.support.user_errors import lookup

    command = lookup(COMMANDS, arguments[0], "command")
    sys.path.insert(0, os.getcwd())  # for --reward and --rule module:name beside the data
    command(arguments[1:])
    return 0


def train(arguments: list[str]) -> None:
    """Train, and print where the run lies and how it ended."""
    from llm_bridge.commands import train as training

    _train(training.TrainConfig, arguments, "train")


def audit(arguments: list[str]) -> None:
    """Audit a few steps, print how the forecasts did, and write its pages."""
    from llm_bridge.commands import train as training

    found = _train(training.AuditConfig, arguments, "audit")
    if found is not None:
        _complete_audit(found)


def _complete_audit(found: dict[str, Any]) -> None:
    """Make the tables and pages of a finished audit, and print where they lie."""
    from pathlib import Path

    import transformers

    from llm_bridge.analysis import audit_pages
    from llm_bridge.data import models

    run = Path(found["output"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(models.locate(found["options"]["model"]))
    completed = audit_pages.complete(run, lambda token: str(tokenizer.decode([token])))
    if completed["kernel"] is not None:
        shape, rungs = completed["kernel"]["steps"][0], completed["kernel"]["rungs"]
        print(
            f"logit gradients: diagonal {shape['diagonal']:.3g} (spread "
            f"{shape['diagonal_spread']:.0%}), off it {shape['within_state']:.0%} of that within a "
            f"state, {shape['across_states']:.0%} across states; unexplained entropy change "
            + ", ".join(f"{name} {rung['unexplained']:.0%}" for name, rung in rungs.items())
        )
    print(f"pages: {run / 'audit.html'}, {run / 'entropy_map.html'}")


def _train(kind: Any, arguments: list[str], name: str) -> dict[str, Any] | None:
    """Train and return what the run found; None on all processes but the main one."""
    import transformers
    import tyro

    from llm_bridge.commands import train as training
    from llm_bridge.running import ranks
    from llm_bridge.trainer.entropy_trainer import InertRuleWarning

    with ranks.main_speaks():
        options, arguments = _from_recipe(arguments) if name == "train" else ({}, arguments)
        config = tyro.cli(kind, args=arguments, prog=f"python -m llm_bridge {name}", **options)
        if config.dry_run:
            from llm_bridge.commands import memory_plan

            print(memory_plan.plan(config))
            return None
    transformers.utils.logging.set_verbosity_error()
    with ranks.report_once(), warnings.catch_warnings():
        warnings.showwarning = _in_one_line(warnings.showwarning, InertRuleWarning)
        found = training.train(config)
        is_main = ranks.is_main()
        if is_main:
            _report(found)
        ranks.leave()
    return found if is_main else None


def _from_recipe(arguments: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the run that --recipe names, whose values are the defaults, and the other options."""
    import argparse

    from llm_bridge import recipes

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--recipe")
    parser.add_argument("--launcher")
    found, rest = parser.parse_known_args(arguments)
    if found.recipe is None:
        if found.launcher is not None:
            raise ValueError("--launcher goes with --recipe: name a recipe, or leave it out")
        return {}, arguments
    config, _ = recipes.run(found.recipe, launcher=found.launcher)
    return {"default": config}, rest


def _in_one_line(show: Any, kind: type[Warning]) -> Any:
    """Show warnings of a kind as a sentence, without the line of code that gave them."""

    def shown(message: Any, category: Any, *where: Any, **options: Any) -> None:
        if issubclass(category, kind):
            print(f"warning: {message}", file=sys.stderr)
        else:
            show(message, category, *where, **options)

    return shown


def evaluate(arguments: list[str]) -> None:
    """Evaluate a model on a task."""
    import tyro

    from llm_bridge import evaluation

    config = tyro.cli(
        evaluation.EvaluateConfig, args=arguments, prog="python -m llm_bridge evaluate"
    )
    evaluation.evaluate_command(config)


def sample(arguments: list[str]) -> None:
    """Draw completions."""
    import tyro

    from llm_bridge.sampling import sampling

    config = tyro.cli(sampling.SampleConfig, args=arguments, prog="python -m llm_bridge sample")
    sampling.sample_command(config)


def compare(arguments: list[str]) -> None:
    """Put training runs side by side."""
    import tyro

    from llm_bridge.analysis import comparison

    config = tyro.cli(
        comparison.CompareConfig, args=arguments, prog="python -m llm_bridge compare"
    )
    comparison.compare_command(config)


COMMANDS = {
    "train": train, "audit": audit, "evaluate": evaluate, "sample": sample, "compare": compare,
}


def _report(found: dict[str, Any]) -> None:
    closing = found["closing"]
    print(f"run: {found['output']}")
    print(
        f"last tenth: reward {closing['reward']:.3f} (a constant answer: "
        f"{found['constant_answer_reward']:.3f}), entropy {closing['entropy']:.3f} nats/token, "
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
                + f"; larger error: {summary['dominant']}; "
                f"identity holds to {summary['identity_error']:.1e}"
            )


if __name__ == "__main__":
    from entropy_theory.support.user_errors import run_command

    run_command(main)
