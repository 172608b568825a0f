"""Guards prompts with images: watched, trained on as in TRL, and told apart by their images."""

import functools

import datasets
import numpy as np
import pytest
import torch
import transformers
import trl
from PIL import Image

from entropy_theory import update_rules
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.commands import pretrain
from llm_bridge.trainer import EntropyTrainer, from_trl
from tests.llm_bridge.recorded_steps import recorded
from tests.llm_bridge.test_translation import SAME
from tests.llm_bridge.trl_steps import CUT, GROUP, LONGEST, ROWS, Weights, dealt, difference, judge

CHAT = ("{% for m in messages %}{% if m['content'] is string %}{{ m['content'] }}{% else %}"
        "{% for p in m['content'] %}{% if p['type'] == 'image' %}IMAGE{% else %}{{ p['text'] }}"
        "{% endif %}{% endfor %}{% endif %}{% endfor %}")
SIZE = 8


def tokenizer():
    found = pretrain.build_tokenizer()
    found.add_special_tokens({"additional_special_tokens": ["<image>"]})
    return found


def text_config(words):
    return {"vocab_size": len(words), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.5,
            "max_position_embeddings": 64, "bos_token_id": words.bos_token_id,
            "eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id}


SIGHT = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "image_size": SIZE, "patch_size": 4}


def llava():
    """A random LLaVA: rows have one image each, of four patches."""
    words = tokenizer()
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessor(
            size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE}),
        tokenizer=words, patch_size=4, vision_feature_select_strategy="full",
        chat_template=CHAT.replace("IMAGE", "<image>"), num_additional_image_tokens=1,
        image_token="<image>")
    config = transformers.LlavaConfig(
        text_config=transformers.LlamaConfig(**text_config(words)),
        vision_config=transformers.CLIPVisionConfig(**SIGHT), vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_token_id=words.convert_tokens_to_ids("<image>"))
    return transformers.LlavaForConditionalGeneration(config), processor


def gemma():
    """A random Gemma 3, whose attention is told which tokens are an image's (``token_type_ids``)."""
    words = tokenizer()
    words.add_special_tokens({"additional_special_tokens": ["<image>", "<boi>", "<eoi>"]})
    for name in ("image", "boi", "eoi"):
        setattr(words, f"{name}_token", f"<{name}>")
        setattr(words, f"{name}_token_id", words.convert_tokens_to_ids(f"<{name}>"))
    processor = transformers.Gemma3Processor(
        image_processor=transformers.Gemma3ImageProcessor(size={"height": SIZE, "width": SIZE}),
        tokenizer=words, image_seq_length=4, chat_template=CHAT.replace("IMAGE", "<boi>"))
    config = transformers.Gemma3Config(
        text_config=text_config(words) | {"query_pre_attn_scalar": 8, "sliding_window": 8},
        vision_config=SIGHT, mm_tokens_per_image=4,
        **{f"{name}_token_index": getattr(words, f"{name}_token_id") for name in ("image", "boi", "eoi")})
    return transformers.Gemma3ForConditionalGeneration(config), processor


def made(folder, kind, build=llava, *, like="3=", **options):
    """A trainer of a model that sees, on three prompts of equal texts and other images."""
    torch.manual_seed(0)
    model, processor = build()
    words = processor.tokenizer
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=words.pad_token_id, bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id, do_sample=True)
    arguments = trl.GRPOConfig(**{
        "output_dir": str(folder), "use_cpu": True, "bf16": False, "logging_steps": 1,
        "per_device_train_batch_size": ROWS, "num_generations": GROUP, "max_completion_length": LONGEST,
        "num_iterations": 2, "max_steps": 2, "optim": "sgd", "max_grad_norm": 0.0, "learning_rate": 0.003,
        "lr_scheduler_type": "constant", "save_strategy": "no", "shuffle_dataset": False,
        "disable_tqdm": True, "dataloader_pin_memory": False, "gradient_checkpointing": False,
        "disable_dropout": True, "report_to": "none", **options})
    random = np.random.default_rng(0)
    pixels = random.integers(0, 255, (3, SIZE, SIZE, 3), dtype=np.uint8)
    more = {"rule": from_trl(arguments)} if kind is EntropyTrainer else {}
    found = kind(
        model.double(), [judge], arguments, processing_class=processor, **more,
        train_dataset=datasets.Dataset.from_dict({
            "prompt": [[{"role": "user", "content": like}]] * 3,
            "image": [Image.fromarray(one) for one in pixels]}))
    found.remove_callback(transformers.PrinterCallback)
    return found


def steps_of(trainer):
    trainer._generate_single_turn = dealt(trainer.processing_class.tokenizer.eos_token_id)
    seen = Weights(trainer)
    trainer.add_callback(seen)
    trainer.train()
    return [{name: after[name] - before[name] for name in after}
            for before, after in zip(seen.found, seen.found[1:], strict=False)]


@pytest.mark.parametrize(("build", "options"), [(llava, {}), (llava, CUT), (gemma, CUT)])
def test_steps_on_images_are_trl_s(tmp_path, build, options):
    """Also at a second step, whose rows were scored before, and in two micro-batches."""
    expected = steps_of(made(tmp_path, trl.GRPOTrainer, build, **options))
    found = steps_of(made(tmp_path, EntropyTrainer, build, **options))
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME


def test_rows_of_other_images_are_other_states(tmp_path):
    """Of equal texts: the samples of one prompt share a state, and no others do."""
    trainer = made(tmp_path, EntropyTrainer, num_iterations=1, max_steps=1)
    ((part,),) = recorded(trainer)
    first, group = part.inputs["state"][:, 0], part.inputs["group"]
    assert len(set(first.tolist())) == 3
    for one in range(3):
        assert len(set(first[group == one].tolist())) == 1


@pytest.mark.parametrize("kind", [trl.GRPOTrainer, EntropyTrainer])
def test_entropy_is_accounted_for_on_images(tmp_path, kind):
    """Measured change and account agree, tokens add up, and watching moves no weight of TRL's run."""
    options = {"max_grad_norm": 1.0, "learning_rate": 1e-3, "num_iterations": 1, "max_steps": 1}
    trainer = made(tmp_path, kind, **options)
    if kind is EntropyTrainer:
        prefix = ""
        trainer.add_callback(Accountant(trainer))
    else:
        prefix = diagnostics.PREFIX
        diagnostics.attach(trainer, account_every=1, account_tokens=True)
    found = steps_of(trainer)
    line = {name.removeprefix(prefix): value for name, value in trainer.state.log_history[0].items()}
    assert abs(line["measured_entropy_change"]) > 1e-4
    assert line["accounted"] == pytest.approx(line["measured_entropy_change"], rel=0.02)
    assert line["accounted_token_gap"] < 1e-6
    if kind is trl.GRPOTrainer:
        plain = steps_of(made(tmp_path, kind, **options))
        assert all(torch.equal(own[name], other[name])
                   for own, other in zip(found, plain, strict=True) for name in own)


def test_a_second_batch_and_dynamic_sampling_take_images_along(tmp_path):
    """Their rows are joined with the others', and chosen among them."""
    trainer = made(tmp_path, functools.partial(
        EntropyTrainer, rule=update_rules.get("aepo", target=9.0), resampling_rounds=1),
        num_iterations=1, max_steps=1)
    ((part,),) = recorded(trainer)
    assert len(part.inputs["images"]) == len(part.inputs["mask"]) == 2 * ROWS
    assert part.inputs["tempered"].sum() == ROWS
