"""Guards completions in which a tool answers (TRL's ``tools`` and ``environment_factory``): what the tool
said is read, and neither trained on nor measured."""


import datasets
import pytest
import tokenizers
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.data import models
from llm_bridge.trainer import entropy_trainer
from tests.llm_bridge.llama_steps import plain_statistics
from tests.llm_bridge.recorded_steps import recorded
from tests.llm_bridge.test_shared_prompts import ROUNDING
from tests.tolerances import FLOAT32

PAD, EOS = "<pad>", "<eos>"
TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'user' -%}{{ message.content }}{{ mark }}=
{%- elif message.role == 'tool' -%}[{{ message.content }}]
{%- else -%}{{ message.content }}{%- for call in message.tool_calls or [] -%}
{{ call.function.name }}({{ call.function.arguments | tojson }}){%- endfor -%}{{ eos_token }}
{%- endif -%}{%- endfor -%}
{%- if add_generation_prompt and messages[-1].role == 'tool' -%}:{%- endif -%}"""
CALL = 'double({"number": 4})'
ANSWER = len("[8]:")
BEGUN = {"12": 0, CALL: ANSWER, "7" + CALL: 2 * ANSWER, "1" * 40 + CALL: 0}
"""What rows say first, and how many tokens they are told: nothing to a tool, one call, a call that
another follows, and one too long to be answered."""
LONGEST = 64


def spelled():
    """A tokenizer of characters that knows of calls, and a random two-layer Llama in float64."""
    symbols = [PAD, EOS, *map(chr, range(32, 127))]
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        vocab={symbol: i for i, symbol in enumerate(symbols)}, unk_token=PAD))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), behavior="isolated")
    backend.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=EOS, pad_token=PAD, padding_side="left",
        clean_up_tokenization_spaces=False, chat_template=TEMPLATE.replace("\n", ""))
    tokenizer.response_template = {
        "defaults": {"role": "assistant"}, "start_anchor_pattern": "[=:]",
        "fields": {
            "tool_calls": {
                "open_pattern": r"(?P<name>[a-z]+)\(", "close_pattern": r"\)", "repeats": True,
                "content": "json",
                "transform": {"type": "function",
                              "function": {"name": "{name}", "arguments": "{content}"}}},
            "content": {"close_pattern": EOS, "content": "text"},
        },
    }
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(symbols), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=128,
        initializer_range=0.5, pad_token_id=0, bos_token_id=None, eos_token_id=1))
    models.sample_plainly(model, tokenizer)
    return model.double(), tokenizer


def double(number: int) -> int:
    """Double a number.

    Args:
        number: The number.
    """
    return 2 * number


def calls(completions, **_):
    """1 for completions that call a tool, answered or not."""
    return [float(any(message.get("tool_calls") for message in messages)) for messages in completions]


def trainer(folder, rule, **options):
    """One step; completions begin as BEGUN says, and the model itself goes on."""
    model, tokenizer = spelled()
    arguments = entropy_trainer.grpo_config(
        folder, use_cpu=True, max_steps=1, optim="sgd", max_grad_norm=0.0,
        learning_rate=0.5, num_generations=8, per_device_train_batch_size=16, save_strategy="no",
        max_completion_length=LONGEST, disable_tqdm=True, **options)
    prompts = [[{"role": "user", "content": text}] for text in ("1", "23")]
    records = []
    made = entropy_trainer.EntropyTrainer(
        model, [calls], arguments, rule=rule, processing_class=tokenizer, on_step=records.append,
        train_dataset=datasets.Dataset.from_dict({"prompt": prompts}), tools=[double])
    made.remove_callback(transformers.PrinterCallback)
    go_on = made._generate_single_turn

    def say(prompt_ids, images, fields, *rest, **more):
        texts = tokenizer.batch_decode(prompt_ids)
        calls = [[*tokenizer.encode(CALL), 1] if "7" + CALL in text and text.count("[") == 1 else None
                 for text in texts]
        if not any("[" in text for text in texts):
            calls = [[*tokenizer.encode(list(BEGUN)[row % len(BEGUN)]), 1] for row in range(len(texts))]
        own = [ids for ids, call in zip(prompt_ids, calls, strict=True) if call is None]
        found, likely = go_on(own, images, fields, *rest, **more) if own else ([], None)
        drawn = iter(zip(found, likely or [None] * len(found), strict=True))
        rows = [next(drawn) if call is None else (call, [None] * len(call)) for call in calls]
        return [ids for ids, _ in rows], [one for _, one in rows] if made.records_draws else None

    made._generate_single_turn = say
    return made, records


def said_by_the_model(rows, tokenizer):
    """Read off the symbols: everything but a tool's answer, from its bracket to the colon behind it."""
    own = torch.zeros_like(rows["completion_ids"], dtype=torch.bool)
    for row, (ids, present) in enumerate(
        zip(rows["completion_ids"], rows["completion_mask"].bool(), strict=True)
    ):
        answered, before = False, ""
        for place, symbol in enumerate(tokenizer.convert_ids_to_tokens(ids[present].tolist())):
            answered = answered or (symbol == "[" and before == EOS)
            own[row, place] = not answered
            answered = answered and symbol != ":"
            before = symbol
    return own


def test_what_a_tool_says_is_read_and_no_part_of_the_step(tmp_path):
    """Rows keep the model's own tokens alone, whose entropies are those behind what the tool said."""
    made, records = trainer(tmp_path, update_rules.get("aepo", alpha=2.0))
    made.add_callback(Accountant(made, every=1))
    ((part,),) = recorded(made)
    rows = part.inputs
    own = said_by_the_model(rows, made.processing_class)
    assert torch.equal(rows["mask"], own)
    told = (rows["completion_mask"].bool() & ~own).sum(-1).tolist()
    texts = made.processing_class.batch_decode(rows["completion_ids"])
    begun = [next(text for text in BEGUN if row.startswith(text + EOS)) for row in texts]
    assert told == [BEGUN[text] for text in begun]
    assert set(begun) == set(BEGUN)
    behind = [int(count) - len(CALL) - 1 for count, text in zip(own.sum(-1), begun, strict=True)
              if text == CALL]
    assert max(behind) > 1  # what the model itself went on to say
    tempered = own & rows["tempered"][:, None]
    for chosen in (tempered, own & ~tempered):
        expected = torch.full_like(rows["weight"][chosen], 1 / int(chosen.sum()))
        torch.testing.assert_close(rows["weight"][chosen], expected)
    with torch.no_grad():
        start, end = (plain_statistics(model, rows, made.rule) for model in (spelled()[0], made.model))
    torch.testing.assert_close(part.batch.log_prob[own], start.log_prob[own], rtol=0, atol=ROUNDING)
    before, after = (by_token(one.entropy, own & ~tempered) for one in (start, end))
    assert records[0]["entropy"] == pytest.approx(before, abs=ROUNDING)
    assert records[0]["measured_entropy_change"] == pytest.approx(after - before, abs=ROUNDING)


def test_what_tokens_were_drawn_with_stays_beside_them_when_tools_answer(tmp_path):
    """The model goes on behind a tool's answer; a token of its own that nobody drew has none."""
    made, _ = trainer(tmp_path, update_rules.get("sampler-correction", base=update_rules.get("grpo")),
                      top_k=3)
    ((part,),) = recorded(made)
    rows = part.inputs
    drawn, found = rows["mask"] & rows["sampling_log_prob"].isfinite(), rows["sampling_log_prob"]
    texts = made.processing_class.batch_decode(rows["completion_ids"])
    counts = (column.sum(-1).tolist() for column in (rows["mask"], drawn))
    for text, own, count in zip(texts, *counts, strict=True):
        begun = next(begun for begun in BEGUN if text.startswith(begun + EOS))
        scripted = len(begun) + 1 + (begun == "7" + CALL) * (len(CALL) + 1)
        assert count == own - scripted
    assert int(drawn.sum()) > 20
    ids = torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1)
    present = torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1)
    with torch.no_grad():
        logits = spelled()[0](input_ids=ids, attention_mask=present,
                              position_ids=(present.cumsum(-1) - 1).clamp(min=0)).logits
    cut = transformers.TopKLogitsWarper(3)(None, logits[:, rows["prompt_ids"].shape[1] - 1 : -1])
    expected = cut.log_softmax(-1).gather(-1, rows["completion_ids"][..., None])[..., 0]
    rounding = 16 * FLOAT32 * float(logits.abs().max())
    torch.testing.assert_close(found[drawn].double(), expected[drawn], rtol=0, atol=rounding)


def by_token(entropy, chosen):
    """Mean over sequences of means over tokens."""
    lengths = chosen.sum(-1)
    means = torch.where(chosen, entropy, 0.0).sum(-1)[lengths > 0] / lengths[lengths > 0]
    return float(means.mean())
