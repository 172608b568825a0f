"""What an EntropyTrainer's optimizer steps were computed from, and the same by other means."""

import numpy as np
import transformers

from entropy_theory import policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from tests.llm_bridge.language_models import low_digit

SMALL = {"clip-cov": {"ratio": 0.2, "lower": 0.05}, "kl-cov": {"ratio": 0.2},
         "gspo": {"clip_low": 0.1, "clip_high": 0.1}, "dppo": {"delta_low": 0.05, "delta_high": 0.05},
         "erc": {"beta_low": 0.1, "beta_high": 0.1}, "bapo": {"target": 1.1},
         "m2po": {"above": "current", "threshold": 0.01},
         "sampler-correction": {"above": "current", "high": 1.1, "off_policy_threshold": 0.1},
         "lp-reg": {"share": 0.5}, "stare": {"share": 0.3, "target": 9.0}, "repo": {"beta": 0.3},
         "repo-r": {"zeta": 0.2}, "entropic": {"target": 0.5, "threshold": 0.3},
         "entrocraft": {"entropy_high": 0.61}, "top-entropy": {"share": 0.5}}
"""Options with which a rule acts on 24 tokens, and at a second large step on them."""


class Recorder(transformers.TrainerCallback):
    """Keeps what each optimizer step was computed from."""

    def __init__(self, trainer):
        self.trainer, self.steps = trainer, []

    def on_optimizer_step(self, *_, **__):
        self.steps.append(list(self.trainer.micro_batches))


def recorded(made):
    recorder = Recorder(made)
    made.add_callback(recorder)
    made.train()
    return recorder.steps


def rebuilt_batch(parts, logits, made, rule=None, *, start=None, step=0) -> TokenBatch:
    """The step's batch from the sampled tokens alone, by other means than the trainer's.

    ``start`` are the logits of the policy that sampled, where it is not the one being trained.
    """
    start = logits if start is None else start
    rule = update_rules.get("grpo") if rule is None else rule

    def column(name):
        return np.concatenate([p.inputs[name].numpy() for p in parts])[:, None]

    state = np.concatenate([p.inputs["prompt_ids"][:, -1].numpy() for p in parts])[:, None]
    action = np.concatenate([p.inputs["completion_ids"].numpy() for p in parts])
    tempered = column("tempered")
    texts = made.processing_class.batch_decode(action.tolist(), skip_special_tokens=True)
    count = np.where(tempered, tempered.sum(), (~tempered).sum())
    coefficient = None
    controller = rule.coefficient_controller()
    if controller is not None:
        read = policy.entropy(start)
        if controller.reads == "clamped_entropy":
            read = policy.clamped_entropy(start, rule.needs.removed_fraction)
        observed = read[state][~tempered].mean()
        coefficient = np.full(state.shape, float(controller.observe(observed)))
    return TokenBatch(
        log_prob=policy.log_softmax(logits)[state, action],
        old_log_prob=policy.log_softmax(start)[state, action],
        reference_log_prob=policy.log_softmax(start)[state, action],
        sampling_log_prob=policy.log_softmax(start)[state, action],
        old_entropy=policy.entropy(start)[state],
        mask=np.ones(state.shape, bool), reward=np.array(low_digit(None, texts))[:, None],
        weight=1.0 / count, entropy=policy.entropy(logits)[state],
        sampling_temperature=column("sampling_temperature"), tempered=tempered, group=state,
        sequence=column("sequence"), coefficient=coefficient, state=state, action=action,
        seed=made.args.seed, step=step,
    )


class Tables(transformers.TrainerCallback):
    """The policy before each optimizer step, and after the last."""

    def __init__(self, made):
        self.weight, self.found = made.model.table.weight, []

    def on_pre_optimizer_step(self, *_, **__):
        self.found.append(self.weight.detach().numpy().copy())

    on_train_end = on_pre_optimizer_step


def off_policy_step(parts, tables, made, rule):
    """What the simulator makes of the second step on one generation."""
    start, middle = tables[:2]
    batch = rebuilt_batch(parts, middle, made, rule, start=start, step=1)
    if not rule.needs.every_step:
        first = rebuilt_batch(parts, start, made, rule)
        batch = batch.with_prepared(**rule.prepare(first).prepared)
    return tabular.logit_step(middle, batch, rule), batch
