"""Language models for tests: a tabular policy, and a tiny transformer, behind the same interface."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
import transformers
import trl
from transformers.modeling_outputs import CausalLMOutput

from entropy_theory import policy, update_rules
from llm_bridge.commands import pretrain
from llm_bridge.data import models
from llm_bridge.trainer import entropy_trainer

PROMPTS = ("1", "2", "3")  # 24 rows: 1/24 is exact in no float format


class TabularConfig(transformers.PretrainedConfig):
    model_type = "tabular"

    def __init__(self, vocab_size: int = 18, **options: Any):
        self.vocab_size = vocab_size
        # Generation makes a cache of this many layers, which the table leaves empty.
        self.num_hidden_layers = 1
        super().__init__(**options)


class TabularLanguageModel(transformers.PreTrainedModel, transformers.GenerationMixin):
    """The logits of the next token are a row of a table, chosen by the last token.

    With one-token prompts and completions this is a tabular policy: one state a prompt.
    """

    config_class = TabularConfig

    def __init__(self, config: TabularConfig):
        super().__init__(config)
        self.table = torch.nn.Embedding(config.vocab_size, config.vocab_size)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, logits_to_keep=0, use_cache=None, **_):
        return CausalLMOutput(logits=self.table(input_ids)[:, -logits_to_keep:])

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}


def tabular(seed: int = 0) -> tuple[TabularLanguageModel, Any]:
    """A tabular policy in float64 with unequal logits, and the character tokenizer."""
    tokenizer = pretrain.build_tokenizer()
    model = TabularLanguageModel(TabularConfig(vocab_size=len(tokenizer)))
    table = np.random.default_rng(seed).normal(size=(len(tokenizer), len(tokenizer)))
    model.table.weight.data = torch.tensor(table)
    models.sample_plainly(model, tokenizer)
    return model, tokenizer


def tiny_llama(folder: Path, seed: int = 0) -> Path:
    """A random two-layer Llama with the character tokenizer, written to a folder."""
    torch.manual_seed(seed)
    tokenizer = pretrain.build_tokenizer()
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def loaded_llama(folder: Path, *, dropout: float = 0.0) -> tuple[Any, Any]:
    """`tiny_llama` as a command loads it, ready to be trained, with this dropout of attention."""
    model, tokenizer = models.load(str(tiny_llama(folder)))
    model.config.attention_dropout = dropout
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = dropout
    models.sample_plainly(model, tokenizer)
    return model, tokenizer


def low_digit(prompts: Any, completions: list[str], **_: Any) -> list[float]:
    """1 for completions that begin with a digit below 5: likely enough under random logits."""
    return [float(text[:1] in set("01234") and text != "") for text in completions]


class StopAt(transformers.TrainerCallback):
    """An interruption after a step."""

    def __init__(self, step: int):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step == self.step


def tabular_trainer(
    folder: Path, rule: Any, *, samples: int = 8, steps: int = 1, learning_rate: float = 0.5,
    reward: Any = low_digit, micro_batches: int = 1, model: Any = None, fraction: float = 1.0,
    on_step: Any = None, repeats: int = 1, peft_config: Any = None, resampling_rounds: int = 0,
    eval_dataset: Any = None, train_dataset: Any = None, rollout_func: Any = None, **options: Any,
) -> entropy_trainer.EntropyTrainer:
    """An EntropyTrainer on the tabular policy: SGD, no clipping, one-token completions."""
    own, tokenizer = tabular()
    prompts = PROMPTS * repeats * steps
    rows = len(PROMPTS) * repeats * samples
    arguments = entropy_trainer.grpo_config(
        folder, use_cpu=True, learning_rate=learning_rate,
        per_device_train_batch_size=rows // micro_batches, num_generations=samples,
        gradient_accumulation_steps=options.pop("gradient_accumulation_steps", micro_batches),
        disable_tqdm=True,
        **{"optim": "sgd", "max_grad_norm": 0.0, "max_steps": steps, "save_strategy": "no",
           "max_completion_length": 1, **options},
    )
    made = entropy_trainer.EntropyTrainer(
        model or own, [reward], arguments, rule=rule, tempered_fraction=fraction, on_step=on_step,
        resampling_rounds=resampling_rounds, rollout_func=rollout_func,
        train_dataset=train_dataset or datasets.Dataset.from_dict({"prompt": list(prompts)}),
        processing_class=tokenizer, peft_config=peft_config, eval_dataset=eval_dataset,
    )
    made.remove_callback(transformers.PrinterCallback)
    return made


class ScoringFromLogits(trl.GRPOTrainer):
    """A user's own scoring, for a model without a language-modeling head: TRL's loss around it."""

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, batch_size=None,
        compute_entropy=False, **_,
    ):
        logits = model(input_ids[:, :-1], logits_to_keep=logits_to_keep).logits / self.temperature
        log_prob = policy.log_softmax(logits)
        ids = input_ids[:, -logits_to_keep:, None]
        return log_prob.gather(-1, ids)[..., 0], policy.entropy(logits), None


class RlooFromLogits(trl.RLOOTrainer):
    """The same around RLOO's loss."""

    _get_per_token_logps_and_entropies = ScoringFromLogits._get_per_token_logps_and_entropies


def grpo_trainer(folder, model, tokenizer, *, kind=trl.GRPOTrainer, config=trl.GRPOConfig, steps=1,
                 micro_batches=1, tokens=1, learning_rate=0.5, **options):
    """A TRL trainer as a user would set it up: nothing of this project in it."""
    options = {"accumulation": micro_batches, "optim": "sgd", "max_grad_norm": 0.0, "logging_steps": 1,
               "save_strategy": "no", **options}
    arguments = config(
        output_dir=str(folder), use_cpu=True, bf16=False, report_to="none",
        per_device_train_batch_size=24 // micro_batches, num_generations=8, max_steps=steps,
        gradient_accumulation_steps=options.pop("accumulation"), max_completion_length=tokens,
        learning_rate=learning_rate, lr_scheduler_type="constant",
        shuffle_dataset=False, disable_tqdm=True, dataloader_pin_memory=False,
        gradient_checkpointing=False, **options,
    )
    made = kind(
        model, [low_digit], arguments, processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_dict({"prompt": list(PROMPTS) * steps}),
    )
    made.remove_callback(transformers.PrinterCallback)
    return made


def drawn_step(
    folder: Path, model: Any, tokenizer: Any, *, prompts: Any = ("7=", "12=", "345="), samples: int = 4,
    longest: int = 8, rule: str = "grpo", micro_batches: int = 1, stop: str | None = None, **options: Any,
) -> tuple[Any, dict[str, Any], list[tuple[str, list[int]]]]:
    """Take a step that moves nothing; return its trainer, its record, and the rows that were drawn."""
    rows: list[tuple[str, list[int]]] = []
    records: list[dict[str, Any]] = []

    def reward(prompts, completion_ids, **_):
        rows.extend(zip(prompts, completion_ids, strict=True))
        return [float(len(set(ids))) for ids in completion_ids]

    arguments = entropy_trainer.grpo_config(
        folder / "run", use_cpu=True, max_steps=1, num_generations=samples, max_completion_length=longest,
        per_device_train_batch_size=len(prompts) * samples // micro_batches,
        gradient_accumulation_steps=micro_batches,
        learning_rate=1e-12, optim="sgd", save_strategy="no", disable_tqdm=True, shuffle_dataset=False,
        **options)
    made = entropy_trainer.EntropyTrainer(
        model, [reward], arguments, rule=update_rules.get(rule), processing_class=tokenizer, stop=stop,
        on_step=records.append,
        train_dataset=datasets.Dataset.from_dict({"prompt": list(prompts)}))
    made.remove_callback(transformers.PrinterCallback)
    made.train()
    return made, records[0], rows


def read_by_hand(
    model: Any, prompt: list[int], completion: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and entropies of a completion from transformers' own logits, alone: nats."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *completion]])).logits[0, len(prompt) - 1 : -1].double()
    one = torch.distributions.Categorical(logits=logits)
    return one.log_prob(torch.tensor(list(completion))), one.entropy()
