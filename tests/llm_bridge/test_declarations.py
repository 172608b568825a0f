"""Guards that what a checkpoint declares arrives in sampling and training, or is refused by name."""

import json
import logging

import pytest
import torch
import transformers

from llm_bridge import evaluation
from llm_bridge.commands import pretrain
from llm_bridge.data import generation_settings, models, tasks
from llm_bridge.sampling import samplers, sampling
from tests.llm_bridge.language_models import drawn_step, read_by_hand

PROMPTS = ("7=", "12=", "345=")
EOS, PLUS, NINE = 2, 14, 12
SIZES = {
    "vocab_size": 18, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64, "head_dim": 8,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.5,
}
OF_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
NESTED = {
    "text_config": SIZES | {
        "eos_token_id": [EOS, PLUS], "query_pre_attn_scalar": 8, "model_type": "gemma3_text"},
    "vision_config": {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
                      "num_attention_heads": 1, "image_size": 28, "patch_size": 14},
    "image_token_index": 17, "boi_token_index": 17, "eoi_token_index": 17, "mm_tokens_per_image": 4}
CASES = {
    # name: (family, its config, generation_config.json or None for no file, end tokens)
    "one": ("llama", {}, {"eos_token_id": EOS}, [EOS]),
    "a list in generation_config": ("llama", {}, {"eos_token_id": [PLUS, EOS]}, [EOS, PLUS]),
    "a list in config": ("qwen3", {"eos_token_id": [EOS, PLUS, NINE]}, {"eos_token_id": EOS},
                         [EOS, PLUS, NINE]),
    "no generation_config": ("mistral", {"eos_token_id": [EOS, PLUS]}, None, [EOS, PLUS]),
    "one that has no logit": ("gpt2", OF_GPT | {"eos_token_id": 50256}, {"eos_token_id": [50256, PLUS]},
                              [EOS, PLUS]),
    "the end is the padding": ("llama", {"pad_token_id": EOS}, {"eos_token_id": [EOS, PLUS]},
                               [EOS, PLUS]),
    "capped logits": ("gemma2", {"final_logit_softcapping": 2.0, "attn_logit_softcapping": 3.0,
                                 "query_pre_attn_scalar": 8}, {"eos_token_id": [EOS, PLUS]}, [EOS, PLUS]),
    "padded vocabulary": ("olmo", {"vocab_size": 32}, {"eos_token_id": [EOS, PLUS]}, [EOS, PLUS]),
    "whole vocabulary": ("llama", {"vocab_size": 16}, {"eos_token_id": [EOS, PLUS]}, [EOS, PLUS]),
    "a nested config": ("gemma3", NESTED, {"do_sample": True}, [EOS, PLUS]),
    "settings that bend": ("llama", {}, {
        "eos_token_id": [EOS, PLUS], "do_sample": True, "temperature": 0.1, "top_k": 2, "max_time": 1e-9,
        "suppress_tokens": [5], "max_length": 4, "guidance_scale": 2.0}, [EOS, PLUS]),
}


def written(folder, case, **tokens):
    """Write a tiny random checkpoint with its declarations; return its folder."""
    kind, own, declared, _ = CASES[case]
    torch.manual_seed(1)
    config = transformers.CONFIG_MAPPING[kind](**(own if kind == "gemma3" else SIZES | own))
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.to(config.dtype or torch.float32).save_pretrained(folder)
    tokenizer = pretrain.build_tokenizer()
    for name, value in tokens.items():
        setattr(tokenizer, name, value)
    if case == "the end is the padding":
        tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if declared is not None:
        (folder / "generation_config.json").write_text(json.dumps(declared), encoding="utf-8")
    return folder


def assert_ends(rows, ends):
    """Each completion ends at its first end token, and some at the one that is declared last."""
    for ids in rows:
        assert not set(ids[:-1]) & set(ends)
    assert ends[-1] in {ids[-1] for ids in rows}


SIZE = {"samples": 24, "longest": 12}
DAILY = ("a nested config", "settings that bend")


@pytest.mark.parametrize("case", [
    pytest.param(case, marks=() if case in DAILY else pytest.mark.deep) for case in CASES])
def test_what_a_checkpoint_declares_arrives(tmp_path, caplog, case):
    """In the samplers and in training, with a model of `models.load` and with one of transformers."""
    logging.getLogger("llm_bridge").propagate = True
    ends = CASES[case][3]
    folder = str(written(tmp_path / "model", case))
    model, tokenizer = models.load(folder)
    for name in ("max_time", "top_k", "suppress_tokens", "guidance_scale"):
        assert (f"{name}=" in caplog.text) is (case == "settings that bend")
    assert model.dtype == torch.float32
    assert models.end_token_ids(model, tokenizer) == ends == model.generation_config.eos_token_id
    plain = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    for name, sampler in samplers.SAMPLERS.items():
        if sampler.obstacle(model) is not None:
            continue
        for one in (model, plain):
            drawn = sampling.sample(one, tokenizer, list(PROMPTS), num_samples=24, max_new_tokens=12,
                                    sampler=name)
            rows = [ids[keep].tolist() for ids, keep in zip(drawn.token_ids, drawn.mask, strict=True)]
            assert_ends(rows, ends)
        for place in (0, 30, 60):
            prompt = drawn.prompt_ids[place][drawn.prompt_mask[place]].tolist()
            log_prob, entropy = read_by_hand(plain, prompt, rows[place])
            count = len(rows[place])
            for column, expected in ((drawn.log_prob, log_prob), (drawn.entropy, entropy)):
                torch.testing.assert_close(
                    column[place, :count].double(), expected, atol=1e-4, rtol=0)
    if case == "settings that bend":
        with pytest.raises(ValueError, match=r"generation setting max_time.* or cuts completions off"):
            drawn_step(tmp_path, plain, tokenizer, **SIZE)
        plain.generation_config = transformers.GenerationConfig(eos_token_id=[EOS, PLUS])
    for one in (model, plain):
        _, record, rows = drawn_step(tmp_path, one, tokenizer, **SIZE)
        assert_ends([ids for _, ids in rows], ends)
        entropy = [read_by_hand(plain, tokenizer(text).input_ids, ids)[1].mean() for text, ids in rows]
        assert record["entropy"] == pytest.approx(float(torch.stack(entropy).mean()), abs=1e-4)


def test_an_evaluation_tells_ended_from_cut_off_by_all_end_tokens(tmp_path):
    model, tokenizer = models.load(str(written(tmp_path, "a list in generation_config")))
    task = tasks.load("split", size=4)
    found = evaluation.evaluate(model, tokenizer, task, num_samples=32, ks=[1])
    drawn = sampling.sample(model, tokenizer, list(task.prompts), num_samples=32, stop=task.stop,
                            max_new_tokens=task.max_new_tokens, seed=evaluation.chunk_seed(0, 0))
    ended = torch.isin(drawn.token_ids, torch.tensor([EOS, PLUS])).any(-1).double().mean()
    assert found["ended"] == ended.item()  # the same draws
    assert 0 < ended < 1


def test_a_stop_text_ends_completions_beside_the_end_tokens(tmp_path):
    """In training it is told to the trainer, and no declaration of the model that is saved."""
    model, tokenizer = models.load(str(written(tmp_path / "model", "a list in generation_config")))
    *_, rows = drawn_step(tmp_path, model, tokenizer, stop="9", **SIZE)
    assert_ends([ids for _, ids in rows], [EOS, PLUS, tokenizer.convert_tokens_to_ids("9")])
    assert models.end_token_ids(model, tokenizer) == [EOS, PLUS]


def test_what_training_cannot_obey_is_refused_by_name(tmp_path):
    """Generation fills what TRL leaves unset from the model's own, in silence."""
    model, tokenizer = models.load(str(written(tmp_path / "model", "one")))
    model.generation_config.stop_strings = ["9"]
    with pytest.raises(ValueError, match=r"declares stop_strings=\['9'\]"):
        drawn_step(tmp_path, model, tokenizer)


def test_ends_that_are_texts_are_refused_wherever_a_model_is_sampled(tmp_path):
    folder = written(tmp_path, "one")
    (folder / "generation_config.json").write_text('{"stop_strings": ["+"]}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"declares stop_strings=\['\+'\].*eos_token_id"):
        models.load(str(folder))


def test_a_tokenizer_that_ends_every_prompt_is_refused(tmp_path):
    """Completions of what has ended."""
    folder = written(tmp_path, "one")
    file = folder / "tokenizer.json"
    made = json.loads(file.read_text(encoding="utf-8"))
    made["post_processor"]["single"].append({"SpecialToken": {"id": pretrain.EOS, "type_id": 0}})
    made["post_processor"]["special_tokens"][pretrain.EOS] = {
        "id": pretrain.EOS, "ids": [EOS], "tokens": [pretrain.EOS]}
    file.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(ValueError, match=r"its end token 2 behind every prompt"):
        models.load(str(folder))


def test_the_checkpoints_end_and_padding_stand_in_for_those_that_a_tokenizer_lacks(tmp_path):
    model, tokenizer = models.load(str(written(
        tmp_path / "none", "a list in config", eos_token=None, pad_token=None)))
    assert models.end_token_ids(model, tokenizer)[0] == EOS == tokenizer.eos_token_id
    assert tokenizer.pad_token_id == EOS
    folder = written(tmp_path / "beyond", "whole vocabulary", pad_token="<beyond>")
    _, tokenizer = models.load(str(folder))
    assert tokenizer.pad_token_id == EOS


def test_every_setting_of_generation_is_classified():
    """A new one would be obeyed, or dropped, in silence."""
    known = {name for name in vars(transformers.GenerationConfig()) if not name.startswith("_")}
    classified = generation_settings.PLAIN_SAMPLING.keys() | generation_settings.HARMLESS
    assert not known - classified
    assert not generation_settings.PLAIN_SAMPLING.keys() & generation_settings.HARMLESS


def test_a_model_that_counts_positions_from_the_padding_on_is_not_sampled_in_silence():
    """Beside a longer prompt the shorter one was continued by another policy, 2 nats off."""
    torch.manual_seed(0)
    _, tokenizer = models.load("small-sums")
    model = transformers.BartForCausalLM(transformers.BartConfig(
        vocab_size=32, d_model=16, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=16,
        max_position_embeddings=64, init_std=1.0, pad_token_id=0, bos_token_id=1, eos_token_id=2))
    with pytest.raises(ValueError, match=r"counts positions from the padding on.*of one length"):
        sampling.sample(model, tokenizer, ["7=", "4567="], max_new_tokens=2)
    for prompts in (["7=", "8="], ["4567="]):
        drawn = sampling.sample(model, tokenizer, prompts, max_new_tokens=2)
        assert len(drawn.completions) == len(prompts)
