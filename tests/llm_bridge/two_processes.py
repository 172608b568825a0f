"""Run by test_two_ranks: steps on a tabular policy, their rows on two ranks."""

import os
import sys
from pathlib import Path

import torch
import transformers
from accelerate.utils import gather_object

from entropy_theory import update_rules
from llm_bridge import diagnostics
from llm_bridge.data import models
from llm_bridge.trainer import entropy_trainer, reference
from tests.llm_bridge.language_models import (
    ScoringFromLogits,
    grpo_trainer,
    low_digit,
    tabular,
    tabular_trainer,
)

AEPO = ("aepo", {"alpha": 2.0, "normalize": "positives"})
STEERED = {"name": "aent", "warm_up_steps": 0, "coefficient": 0.1, "coefficient_step": 0.01,
           "coefficient_high": 9.0, "removed_fraction": 0.4}
OFF_POLICY = {
    "clip-cov": {"name": "clip-cov", "ratio": 0.2, "lower": 0.05},
    "clip-cov, current": {
        "name": "clip-cov", "ratio": 0.2, "lower": 0.05, "cov_log_prob": "current"},
    "kl-cov": {"name": "kl-cov", "ratio": 0.2},
    "kl-cov, current, aent": {
        "name": "kl-cov", "ratio": 0.2, "cov_log_prob": "current", "base": STEERED},
}
"""Two steps on one generation, the second off-policy: selection over both ranks."""


def off_policy_rule(case: str) -> update_rules.UpdateRule:
    options = dict(OFF_POLICY[case])
    if "base" in options:
        options["base"] = update_rules.get(**options["base"])
    return update_rules.get(**options)


class Collector(transformers.TrainerCallback):
    """Brings the rows of both ranks together before each step is taken."""

    def __init__(self, made):
        self.made, self.steps, self.tables = made, [], []

    def on_pre_optimizer_step(self, *_, **__):
        names = ("prompt_ids", "completion_ids", "tempered", "sampling_temperature", "group",
                 "sequence")
        own = []
        for part in self.made.micro_batches:
            chosen = [c for name, c in part.batch.prepared.items() if name.endswith(".selected")]
            coefficient = part.batch.coefficient
            own.append({
                **{name: part.inputs[name] for name in names},
                "selected": chosen[0] if chosen else None,
                "coefficient": None if coefficient is None else coefficient[:, 0],
            })
        self.steps.append(gather_object(own))
        self.on_train_end()

    def on_train_end(self, *_, **__):
        table = self.made.accelerator.unwrap_model(self.made.model).table.weight.detach()
        self.tables.append(self.made.accelerator.gather(table[None].contiguous()))


def run(folder: Path, rule: update_rules.UpdateRule, label: str, **options) -> None:
    records: list[dict] = []
    made = tabular_trainer(
        folder, rule, micro_batches=2, gradient_accumulation_steps=1, on_step=records.append,
        **options,
    )
    collector = Collector(made)
    made.add_callback(collector)
    made.train()
    if made.accelerator.is_main_process:
        torch.save(
            {"steps": collector.steps, "tables": collector.tables, "records": records},
            folder / f"{label}.pt",
        )


def watch(folder: Path) -> None:
    """Diagnostics of TRL's own loss."""
    records: list[dict] = []
    model, tokenizer = tabular()
    made = grpo_trainer(folder, model, tokenizer, kind=ScoringFromLogits, micro_batches=2,
                        accumulation=1, entropy_coef=0.3)
    diagnostics.attach(made, on_step=records.append)
    before = model.table.weight.detach().clone()
    made.train()
    if made.accelerator.is_main_process:
        after = made.accelerator.unwrap_model(made.model).table.weight.detach()
        torch.save({"tables": [before, after], "records": records}, folder / "diagnostics.pt")


def judged_on_one_rank(prompts, completions, **_):
    known = os.environ["RANK"] == "0"
    return low_digit(prompts, completions) if known else [None] * len(completions)


def judged_by_nobody(prompts, completions, **_):
    return [None] * len(completions)


def load_references(folder: Path) -> None:
    """The reference of each rank where only one of them reads checkpoints."""
    name = str(folder / "llama")
    args = entropy_trainer.grpo_config(folder, use_cpu=True)
    os.environ.update(ACCELERATE_USE_FSDP="true", FSDP_CPU_RAM_EFFICIENT_LOADING="true")
    loaded = models.load(name)[0]
    found = {
        "loaded": loaded.state_dict(),
        "copied": reference.frozen_copy(loaded, args).state_dict(),
        "named": reference.frozen_copy(name, args).state_dict(),
    }
    torch.save(found, folder / f"references-{os.environ['RANK']}.pt")


def main(folder: Path) -> None:
    name, options = AEPO
    run(folder, update_rules.get(name, **options), name)
    run(folder, update_rules.get(name, **options), "judged-on-one-rank", reward=judged_on_one_rank)
    run(folder, off_policy_rule("kl-cov"), "judged-by-nobody", reward=judged_by_nobody, steps=2,
        num_iterations=2)
    for case in OFF_POLICY:
        run(folder, off_policy_rule(case), case, steps=2, num_iterations=2)
    watch(folder)
    load_references(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
