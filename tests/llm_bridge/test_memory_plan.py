"""Guards llm_bridge/commands/memory_plan.py: what a plan says of a run is what the run takes."""

import dataclasses
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from llm_bridge.commands import memory_plan, sharding_plan, train_config
from llm_bridge.data import models
from tests.llm_bridge import accelerators, forked_ranks, memory_processes

LLAMA = transformers.LlamaConfig(
    vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    intermediate_size=48, tie_word_embeddings=True,
)
WORK = memory_plan.Workload(
    rows=1, sampled=1, prompt_tokens=5, new_tokens=20, dtype=torch.float32, on_gpu=False)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_fake_tensors_keep_what_real_ones_keep(checkpointing):
    """Storages counted twice, or a path through the model that only real tensors take."""
    model = transformers.AutoModelForCausalLM.from_config(LLAMA).train()
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    kept = memory_plan.kept_for_backward(model, WORK.positions)
    found = memory_plan.count(LLAMA, dataclasses.replace(WORK, checkpointing=checkpointing))
    assert found.parameters == sum(weight.numel() for weight in model.parameters())
    assert (found.vocabulary, found.features) == (64, 32)
    if not checkpointing:
        assert found.row == kept
        return
    plain = memory_plan.count(LLAMA, WORK).row
    assert found.row == kept + plain // 3 < plain


def test_memory_grows_with_what_it_should():
    """A factor that is left out: each size doubled doubles its own part and no other."""
    counts = memory_plan.count(LLAMA, WORK)

    def parts(**changes):
        found = memory_plan.memory(LLAMA, counts, dataclasses.replace(WORK, **changes))
        return found.always | found.training | found.sampling

    plain = parts()
    weights = 4 * counts.parameters
    assert plain["weights"] == weights
    assert plain["AdamW's two moments"] == 2 * weights
    assert plain["keys and values"] == 2 * 3 * 2 * 8 * 4 * 25
    assert parts(rows=2)["activations"] == 2 * plain["activations"]
    assert parts(sampled=2)["keys and values"] == 2 * plain["keys and values"]
    assert parts(reference=True) == plain | {"the reference": weights}
    assert parts(ranks=2) == plain | {"buckets of data parallelism": weights}
    assert parts(accumulates=True) == plain | {"gradients": weights}
    assert "AdamW's two moments" not in parts(adamw=False)


def test_a_rank_holds_its_part():
    """A part that is counted whole, or divided where the sharding leaves it whole."""
    counts = memory_plan.count(LLAMA, WORK)
    assert counts.parameters == counts.outside + 3 * counts.layer
    assert counts.outside == 64 * 32 + 32  # tied embeddings, and the last norm

    def parts(kind, **changes):
        work = dataclasses.replace(
            WORK, ranks=4, sharding=sharding_plan.SHARDINGS[kind], accumulates=True, **changes)
        found = memory_plan.memory(LLAMA, counts, work)
        return found.always | found.training

    weights = 4 * counts.parameters
    assert weights % 4 == 0
    for kind, weight, gradient, state in (
        ("fsdp2", 4, 4, 4), ("zero1", 1, 1, 4), ("zero2", 1, 4, 4), ("zero3", 4, 4, 4)
    ):
        found = parts(kind, reference=True)
        assert found["weights"] == found["the reference"] == weights // weight
        assert found["AdamW's two moments"] == 2 * weights // state
        assert found["gradients"] == weights // gradient
        stepped = found.get("the weights that are stepped, in float32")
        assert stepped == (None if kind == "fsdp2" else weights // state)
        assert ("buckets of data parallelism" in found) == (kind == "zero1")
        # DeepSpeed's optimizer is in float32, whatever the weights.
        half = parts(kind, dtype=torch.bfloat16)
        assert half["weights"] == found["weights"] // 2
        assert half["AdamW's two moments"] == found["AdamW's two moments"] // (1 + (kind == "fsdp2"))


@pytest.mark.parametrize(("name", "said"), [
    ("ddp", "data parallelism"), ("fsdp2", "FSDP2"), ("zero2", "ZeRO-2"), ("zero3", "ZeRO-3")])
def test_a_launch_is_read_as_accelerate_reads_it(monkeypatch, name, said):
    """From its file, and from the environment that accelerate makes of the same file."""
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    file = accelerators.CONFIGS / f"{name}.yaml"
    sharding, world = sharding_plan.launched(file)
    assert (sharding.name, world) == (said, 8)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert sharding_plan.launched(file)[1] == 2
    for key, value in accelerators.environment(name).items():
        monkeypatch.setenv(key, value)
    assert sharding_plan.launched(None) == (sharding, 2)


@pytest.mark.parametrize(("text", "message"), [
    ("distributed_type: FSDP\nnum_processes: 2\nfsdp_config: {fsdp_version: 1}", "unknown kind of shard"),
    ("distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_offload_params: true}", "to the CPU"),
    ("[", "cannot read accelerate's config file"), (None, "cannot read accelerate's config file")])
def test_a_launch_that_cannot_be_planned_says_why(tmp_path, text, message):
    file = tmp_path / "launch.yaml"
    if text is not None:
        file.write_text(f"compute_environment: LOCAL_MACHINE\n{text}\n")
    with pytest.raises(ValueError, match=message):
        sharding_plan.launched(file)


def test_a_plan_of_a_launch_is_printed(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    config = train_config.TrainConfig(
        device="cpu", dry_run=True, accelerate_config=accelerators.CONFIGS / "fsdp2.yaml")
    text = memory_plan.plan(config)
    assert "8 processes, FSDP2" in text
    assert "what is whole in a pass" in text
    with pytest.raises(ValueError, match="accelerate launch --config_file"):
        memory_plan.plan(dataclasses.replace(config, dry_run=False))


@pytest.mark.deep
@pytest.mark.parametrize("kind", accelerators.KINDS)
def test_two_ranks_take_what_their_plan_says(tmp_path, monkeypatch, kind):
    """Weights and moments to the byte, the peak within the share of one process's test below."""
    if accelerators.obstacle(kind):
        pytest.skip(accelerators.obstacle(kind))
    # glibc keeps freed blocks of this size otherwise; it is told when a process starts.
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    monkeypatch.setattr(forked_ranks, "_server", functools.cache(forked_ranks._server.__wrapped__))
    run = forked_ranks.run(
        "tests.llm_bridge.memory_processes", str(tmp_path), kind, timeout=900,
        **accelerators.environment(kind))
    assert run.returncode == 0, run.stderr[-3000:]
    shape = memory_processes.shape()
    work = dataclasses.replace(
        WORK, rows=memory_processes.ROWS // memory_processes.MICRO_BATCHES,
        sampled=memory_processes.ROWS, new_tokens=memory_processes.NEW_TOKENS, accumulates=True,
        ranks=2, sharding=sharding_plan.SHARDINGS.get(kind, sharding_plan.WHOLE))
    planned = memory_plan.memory(shape, memory_plan.count(shape, work), work)
    for rank in (0, 1):
        told = json.loads((tmp_path / f"memory-{rank}.json").read_text())
        print(kind, {name: round(size / 2**20, 1) for name, size in told.items()}, planned.peak / 2**20)
        assert told["weights"] == planned.always["weights"]
        assert told["moments"] == planned.always["AdamW's two moments"]
        assert 0.9 < planned.peak / told["peak"] < 2, told


def test_a_plan_is_printed_and_nothing_else_happens(tmp_path, monkeypatch):
    """A folder made, a model loaded, or the second batch forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(models, "load", None)
    text = memory_plan.plan(train_config.TrainConfig(
        rule="aepo", tempered_fraction=0.5, steps=10, micro_batches=4, device="cpu", mini_batches=2))
    assert "10, a generation every 2" in text
    assert "32 prompts x 8 completions, and 0.5 of the prompts again in a second batch" in text
    # 384 rows over 2 ranks and 4 micro-batches; 256 plain ones of two mini-batches over 2 ranks.
    assert "48 rows at once, 4 micro-batches, 256 sampled at once" in text
    assert "checkpoints after steps 2, 4, 6, 8, 10, the last two kept" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "message"), [
    ({"model": "who/knows"}, r"shape of 'who/knows' is not on this machine.*config\.json"),
    ({"prompts": 3, "samples": 3}, "2 processes does not divide the step's 9 completions"),
    ({"rule": "grpp"}, "did you mean grpo"),
    # What `train` refuses before it loads a model, by the same checks.
    ({"trl_options": ("top_p=0.5",)}, "top_p=0.5 is refused"),
    ({"trl_options": ("per_device_train_batch_size=3",)}, "follows from the run's own options"),
    ({"rule": "aepo", "tempered_fraction": 1.5}, r"tempered_fraction must be in \(0, 1\]"),
    ({"iterations": 2, "save_every": 3, "steps": 6}, "must be a multiple of the 2 optimizer steps"),
    ({"trl_options": ("bf16=true",)}, "bf16=True keeps copies"),
])
def test_what_cannot_be_planned_says_why(monkeypatch, options, message):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=message):
        memory_plan.plan(train_config.TrainConfig(device="cpu", **options))


def test_held_logits_and_an_engine_are_counted(monkeypatch):
    """A 7B under cast_lm_head_to_fp32 had the plan of one without; so had one whose logits are capped."""
    counts = memory_plan.count(LLAMA, WORK)
    fused = memory_plan._head_bytes(WORK, counts)
    held = memory_plan._head_bytes(dataclasses.replace(WORK, holds_logits=True, rows=100), counts)
    assert held - fused > 100 * WORK.new_tokens * 64 * 4 * 2  # the logits and their gradient
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    found = train_config.importlib.util.find_spec
    monkeypatch.setattr(train_config.importlib.util, "find_spec",
                        lambda name: name if name == "vllm" else found(name))

    def plan(*options):
        return memory_plan.plan(train_config.TrainConfig(
            device="cuda", dry_run=True, trl_options=options))

    assert "logits, and the head's gradients" in plan("cast_lm_head_to_fp32=true")
    assert "logits, and" not in plan()
    colocated = "vLLM's engine in the same process: 0.4 of the GPU's memory"
    vllm = ("use_vllm=true", "vllm_gpu_memory_utilization=0.4")
    assert colocated in plan(*vllm)
    assert colocated not in plan(*vllm, "vllm_mode=server")
    assert memory_plan.changes_logits(transformers.Gemma2Config())
    assert not memory_plan.changes_logits(LLAMA)


@pytest.mark.deep
def test_the_page_is_what_the_module_makes():
    page = Path(memory_plan.__file__).parents[2] / "docs" / "memory.md"
    row = memory_plan.table_row("smollm2-135m-instruct", 1024)
    assert {row, memory_plan.sharding_row("smollm2-135m-instruct")} <= set(
        page.read_text().splitlines()), "python -m llm_bridge.commands.memory_plan > docs/memory.md"


RUN = """
import dataclasses, sys
import torch, transformers
from pathlib import Path
from llm_bridge.commands import memory_plan, pretrain, train
from tests.llm_bridge.memory import peak_of
torch.set_num_threads(1)
folder = Path(sys.argv[1])
tokenizer = pretrain.build_tokenizer()
# The tokenizer knows 16 of the 4,096 words: an end of sequence is seldom drawn, and rows are long.
shape = transformers.LlamaConfig(
    vocab_size=4096, hidden_size=384, num_hidden_layers=6, num_attention_heads=6, num_key_value_heads=2,
    intermediate_size=1024, tie_word_embeddings=True, bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
transformers.LlamaForCausalLM(shape).save_pretrained(folder / "model")
tokenizer.save_pretrained(folder / "model")
config = train.TrainConfig(
    model=str(folder / "model"), task="sum", steps=2, prompts=2, samples=8, max_new_tokens=96,
    micro_batches=int(sys.argv[2]), save_every=0, save_model=False, device="cpu", log_to="none",
    output=folder / "run")
small = dataclasses.replace(config, model="small-sums", max_new_tokens=4, output=folder / "small")
train.train(small)  # loads what a first call loads
print("measured", peak_of(lambda: train.train(config)))
memory_plan.GIB = 1  # bytes
text = memory_plan.plan(config)
print("planned", text.partition("memory of a rank: ")[2].split()[0])
"""


@pytest.mark.deep
@pytest.mark.parametrize("micro_batches", ["1", "4"])
def test_a_run_takes_what_its_plan_says(tmp_path, micro_batches):
    """The peak of resident memory of a run of two steps, beyond what a process takes anyway."""
    # glibc keeps freed blocks of this size otherwise.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path), micro_batches], capture_output=True, text=True,
        env=environment)
    assert shown.returncode == 0, shown.stderr[-2000:]
    told = dict(line.split() for line in shown.stdout.splitlines() if line.startswith(("m", "p")))
    measured, planned = (float(told[name]) for name in ("measured", "planned"))
    print(f"{micro_batches} micro-batches: measured {measured / 2**20:.0f} MiB, "
          f"planned {planned / 2**20:.0f} MiB")
    # Measured in one micro-batch: 465 MiB, where 473 were planned. Less than a tenth more may be taken
    # (the plan says to leave that), and a bound that is twice too high tells nothing.
    assert 0.9 < planned / measured < 2, shown.stdout
