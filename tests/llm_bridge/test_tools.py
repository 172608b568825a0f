"""Guards completions in which a tool answers (TRL's ``tools`` and ``environment_factory``): what the tool
said is read, and neither trained on nor measured."""

import dataclasses
import itertools
from types import SimpleNamespace

import datasets
import pytest
import tokenizers
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.data import models
from llm_bridge.objective import batches
from llm_bridge.objective.loss import detached
from llm_bridge.objective.micro_batch import loss_of
from llm_bridge.trainer import entropy_trainer
from llm_bridge.trainer import records as step_records
from llm_bridge.trainer.sampling_options import check_tools
from tests.llm_bridge.llama_steps import plain_statistics, weights
from tests.llm_bridge.test_shared_prompts import ROUNDING, assert_same

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
RATE = 0.5


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


def trainer(folder, rule, options=None, **owner):
    """Two steps on one generation; completions begin as BEGUN says, and the model itself goes on."""
    model, tokenizer = spelled()
    arguments = entropy_trainer.grpo_config(
        folder, use_cpu=True, max_steps=2, num_iterations=2, optim="sgd", max_grad_norm=0.0,
        learning_rate=RATE, num_generations=8, per_device_train_batch_size=16, save_strategy="no",
        max_completion_length=LONGEST, disable_tqdm=True, **(options or {}))
    prompts = [[{"role": "user", "content": text}] for text in ("1", "23")]
    records = []
    made = entropy_trainer.EntropyTrainer(
        model, args=arguments, rule=rule, processing_class=tokenizer, on_step=records.append,
        train_dataset=datasets.Dataset.from_dict({"prompt": prompts}), **owner)
    made.remove_callback(transformers.PrinterCallback)
    go_on = made._generate_single_turn

    def say(prompt_ids, images, fields, *rest, **more):
        texts = tokenizer.batch_decode(prompt_ids)
        calls = [[*tokenizer.encode(CALL), 1] if "7" + CALL in text and text.count("[") == 1 else None
                 for text in texts]
        if not any("[" in text for text in texts):
            calls = [[*tokenizer.encode(list(BEGUN)[row % len(BEGUN)]), 1] for row in range(len(texts))]
        own = [ids for ids, call in zip(prompt_ids, calls, strict=True) if call is None]
        drawn = iter(go_on(own, images, fields, *rest, **more)[0] if own else ())
        return [next(drawn) if call is None else call for call in calls], None

    made._generate_single_turn = say
    return made, records


class Steps(transformers.TrainerCallback):
    """The rows and the account of each step, and the weights around it."""

    def __init__(self, made):
        self.made, self.rows, self.weights, self.accounts = made, [], [], []

    def on_pre_optimizer_step(self, *_, **__):
        (part,) = self.made.micro_batches
        self.rows.append(part.inputs)
        self.on_train_end()

    def on_step_end(self, *_, **__):
        self.accounts.append(self.made.entropy_account)

    def on_train_end(self, *_, **__):
        self.weights.append(weights(self.made))


def trained(folder, rule, options=None, **owner):
    made, records = trainer(folder, rule, options, **owner)
    steps = Steps(made)
    made.add_callback(Accountant(made, every=1))
    made.add_callback(steps)
    made.train()
    return made, steps, records


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


def by_hand(rows, own, values, rule, before=None):
    """The step under these weights, of the model's own tokens, from plain logits. What a tool said has
    statistics that would be seen wherever they were used. ``before``: the first step's, if this is a
    later one."""
    model, _ = spelled()
    model.load_state_dict(values, strict=False)
    plain = plain_statistics(model, rows, rule)
    found = dataclasses.replace(plain, **{
        field.name: torch.where(own, column, 40.0) for field in dataclasses.fields(plain)
        if (column := getattr(plain, field.name)) is not None})
    tempered = own & rows["tempered"][:, None]
    count = torch.where(tempered, tempered.sum(), (own & ~tempered).sum())
    known = {name: column for name, column in rows.items() if not name.startswith(batches.PREPARED)}
    old = found.log_prob.detach() if before is None else before.batch.log_prob
    batch = batches.token_batch(
        known | {"mask": own, "weight": own.double() / count, "old_log_prob": old},
        found.log_prob, found.entropy, step=0, seed=42)
    prepared = rule.prepare(detached(batch)).prepared if before is None else before.batch.prepared
    loss, part = loss_of(batch.with_prepared(**prepared), rule, known, found, None)
    loss.backward()
    moved = {name: -RATE * weight.grad for name, weight in model.named_parameters()}
    return part, moved, plain.entropy.detach()


def test_what_a_tool_says_is_read_and_no_part_of_the_step(tmp_path):
    """Loss, its normalization, selected tokens, ratios, entropies, forecasts and accounts: both steps on
    a generation, the second off-policy, are those of the other tokens."""
    rule = update_rules.get("aepo", alpha=2.0, base=update_rules.get("kl-cov", ratio=0.2))
    made, steps, records = trained(tmp_path, rule, reward_funcs=[calls], tools=[double])
    rows = steps.rows[0]
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
    before, measured = None, []
    for values, after, record, account in zip(
        steps.weights, steps.weights[1:], records, steps.accounts, strict=False
    ):
        before, expected, entropy = by_hand(rows, own, values, rule, before)
        assert_same({name: after[name] - values[name] for name in values}, expected)
        found = step_records.measured([before], rule, RATE, made.accelerator)
        for key, value in found.items():
            assert record[key] == pytest.approx(value, abs=ROUNDING), key
        ordinary = own & ~rows["tempered"][:, None]
        measured.append(by_token(entropy, ordinary))
        assert account.entropy == pytest.approx(measured[-1], abs=ROUNDING)
    _, _, entropy = by_hand(rows, own, steps.weights[-1], rule, before)
    measured.append(by_token(entropy, ordinary))
    for account, (start, end) in zip(steps.accounts, itertools.pairwise(measured), strict=True):
        assert account.account.measured == pytest.approx(end - start, abs=ROUNDING)


def by_token(entropy, chosen):
    """Mean over sequences of means over tokens."""
    lengths = chosen.sum(-1)
    means = torch.where(chosen, entropy, 0.0).sum(-1)[lengths > 0] / lengths[lengths > 0]
    return float(means.mean())


@pytest.mark.parametrize(("setting", "named"), [
    ({"is_fsdp_enabled": True}, "FSDP"), ({"zero_stage": 3}, "ZeRO-3"),
    ({"use_vllm": True, "vllm_mode": "server"}, "vLLM server"),
    ({"zero_stage": 2, "use_vllm": True}, None),
])
def test_tools_are_refused_where_ranks_sample_together(setting, named):
    """Each samples again as often as its own completions call, and would wait for the others."""
    found = {"is_fsdp_enabled": False, "zero_stage": None, "use_vllm": False, "vllm_mode": "colocate",
             "vllm_tensor_parallel_size": 1, "num_processes": 2, "tools": [double], **setting}
    stage = found.pop("zero_stage")
    plugin = stage and SimpleNamespace(zero_stage=stage)
    args = SimpleNamespace(
        **{name: found.pop(name) for name in ("vllm_mode", "vllm_tensor_parallel_size")})
    accelerator = SimpleNamespace(
        num_processes=found.pop("num_processes"), state=SimpleNamespace(deepspeed_plugin=plugin))
    stub = SimpleNamespace(**found, args=args, accelerator=accelerator)
    if named is None:
        check_tools(stub)
        return
    with pytest.raises(ValueError, match=named):
        check_tools(stub)
