"""Training steps of a tiny transformer in float64, to be compared with one another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.commands import pretrain
from llm_bridge.data import models
from llm_bridge.forward import fused_forward
from llm_bridge.head.token_statistics import TokenStatistics, from_logits
from llm_bridge.objective.loss import clamped_fraction
from llm_bridge.trainer import entropy_trainer
from tests.llm_bridge.language_models import PROMPTS, low_digit


def llama(**options: Any) -> tuple[Any, Any]:
    """A random two-layer Llama in float64, and the character tokenizer."""
    torch.manual_seed(0)
    tokenizer = pretrain.build_tokenizer()
    shape = {
        "vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
        "max_position_embeddings": 64, "initializer_range": 0.5,
    }
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
           for role in ("bos", "eos", "pad")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape, **ids, **options))
    models.sample_plainly(model, tokenizer)
    return model.double(), tokenizer


def experts(family: str = "Qwen3Moe", *, coefficient: float = 0.5) -> tuple[Any, Any]:
    """A random mixture of four experts of which two are used, in float64, with a router's loss."""
    tokenizer = llama()[1]
    own = {"num_experts" if family == "Qwen3Moe" else "num_local_experts": 4,
           "moe_intermediate_size" if family == "Qwen3Moe" else "intermediate_size": 16}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**{
        "vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 64, "initializer_range": 0.5, "num_experts_per_tok": 2,
        "router_aux_loss_coef": coefficient, "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, **own})
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    model.set_experts_implementation("eager")  # a grouped product does not know float64
    models.sample_plainly(model, tokenizer)
    return model.double(), tokenizer


def held(*_: Any) -> Any:
    """Stand in for `fused_forward.tried`: every model keeps its logits."""
    raise fused_forward.HeldLogitsError("the test says so")


def llama_trainer(
    folder: Path, rule: update_rules.UpdateRule, *, model: Any = None, steps: int = 1,
    micro_batches: int = 1, peft_config: Any = None, on_step: Any = None,
    prompts: Sequence[str] = PROMPTS, target_offsets: Sequence[float | None] = (),
    streamed: bool = False, **options: Any,
) -> entropy_trainer.EntropyTrainer:
    """Plain SGD with rate 1: a step moves each weight by minus its gradient."""
    own, tokenizer = llama()
    arguments = entropy_trainer.grpo_config(
        folder, use_cpu=True, max_steps=steps, disable_tqdm=True,
        **{"optim": "sgd", "max_grad_norm": 0.0, "learning_rate": 1.0, "num_generations": 8,
           "max_completion_length": 6, "save_strategy": "no",
           "per_device_train_batch_size": 24 // micro_batches,
           "gradient_accumulation_steps": micro_batches} | options,
    )
    columns: dict[str, Any] = {"prompt": list(prompts) * steps}
    if target_offsets:
        columns["target_offset"] = list(target_offsets) * steps
    dataset = datasets.Dataset.from_dict(columns)
    made = entropy_trainer.EntropyTrainer(
        model or own, [low_digit], arguments, rule=rule, on_step=on_step,
        train_dataset=dataset.to_iterable_dataset() if streamed else dataset,
        processing_class=tokenizer, peft_config=peft_config,
    )
    made.remove_callback(transformers.PrinterCallback)
    return made


def weights(made: entropy_trainer.EntropyTrainer) -> dict[str, torch.Tensor]:
    """A copy of all trained weights."""
    plain = made.accelerator.unwrap_model(made.model)
    return {name: w.detach().clone() for name, w in plain.named_parameters() if w.requires_grad}


def plain_statistics(model: Any, columns: Mapping[str, torch.Tensor], rule: Any) -> TokenStatistics:
    """Of the completions' tokens, from plain logits of whole rows."""
    ids = torch.cat([columns["prompt_ids"], columns["completion_ids"]], dim=1)
    present = torch.cat([columns["prompt_mask"], columns["completion_mask"]], dim=1)
    logits = model(
        input_ids=ids, attention_mask=present, position_ids=(present.cumsum(-1) - 1).clamp(min=0)
    ).logits[:, columns["prompt_ids"].shape[1] - 1 : -1]
    return from_logits(logits, columns["completion_ids"], removed_fraction=clamped_fraction(rule))
