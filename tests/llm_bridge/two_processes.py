"""Run by test_trainer under torchrun: one AEPO step on a tabular policy, its rows on two ranks."""

import sys
from pathlib import Path

import torch
import transformers
from accelerate.utils import gather_object

from entropy_theory import update_rules
from tests.llm_bridge.language_models import tabular_trainer


class Collector(transformers.TrainerCallback):
    """Brings the rows of both ranks together before the step is taken."""

    def __init__(self, made):
        self.made = made

    def on_pre_optimizer_step(self, *_, **__):
        names = ("prompt_ids", "completion_ids", "tempered", "sampling_temperature", "group")
        own = [{name: part.inputs[name] for name in names} for part in self.made.micro_batches]
        self.parts = gather_object(own)


def main(folder: Path) -> None:
    rule = update_rules.get("aepo", alpha=2.0, normalize="positives")
    records: list[dict] = []
    made = tabular_trainer(
        folder, rule, micro_batches=2, gradient_accumulation_steps=1, on_step=records.append
    )
    collector = Collector(made)
    made.add_callback(collector)
    before = made.model.table.weight.detach().clone()
    made.train()
    after = made.accelerator.unwrap_model(made.model).table.weight.detach()
    every = made.accelerator.gather(after[None].contiguous())
    if made.accelerator.is_main_process:
        torch.save(
            {"parts": collector.parts, "before": before, "after": every, "record": records},
            folder / "step.pt",
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
