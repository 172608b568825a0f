"""Guards llm_bridge/running/faults.py, checkpoints.py: what ends a step says so, and spoils nothing."""

import errno
import os
import threading
from types import SimpleNamespace

import pytest
import torch

from entropy_theory import update_rules
from llm_bridge.commands import train as training
from llm_bridge.commands import train_config
from llm_bridge.running import checkpoints, faults, run_folder
from llm_bridge.sampling import sampling
from llm_bridge.trainer.controllers import CONTROLLER_STATE
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.llama_steps import llama, llama_trainer, weights


def saving(folder, steps=4, every=2, **options):
    return llama_trainer(
        folder, update_rules.get("aepo"), steps=steps, save_strategy="steps", save_steps=every,
        save_total_limit=2, learning_rate=0.1, **options,
    )


@pytest.fixture(scope="module")
def checkpointed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpointed")
    saving(folder).train()
    return folder


FILES = ("model.safetensors", "optimizer.pt", CONTROLLER_STATE, "rng_state.pth",
         "trainer_state.json", "scheduler.pt")


@pytest.mark.parametrize(("name", "how"), [*zip(FILES, 2 * ["cut", "zeros", "gone"], strict=True)])
def test_a_broken_file_sends_the_run_to_the_checkpoint_before(checkpointed, capsys, name, how):
    """Whichever file, and also where its length is right."""
    path = checkpointed / "checkpoint-4" / name
    whole = path.read_bytes()
    assert checkpoints.last_whole(checkpointed) == checkpointed / "checkpoint-4"
    try:
        if how == "gone":
            path.unlink()
        else:
            middle = len(whole) // 2
            path.write_bytes(whole[:middle] + bytes(how == "zeros" and len(whole) - middle))
        assert checkpoints.last_whole(checkpointed) == checkpointed / "checkpoint-2"
        assert "checkpoint-4 is incomplete or damaged" in capsys.readouterr().err
    finally:
        path.write_bytes(whole)


def test_weights_alone_are_no_checkpoint_to_go_on_from(tmp_path, capsys):
    """transformers goes on in silence, with a new optimizer: weights were .2 off two steps later."""
    def made(**options):
        return tabular_trainer(tmp_path, update_rules.get("aepo"), steps=2, save_strategy="steps",
                               save_steps=1, **options)

    made(save_only_model=True).train()
    assert checkpoints.last_whole(tmp_path) is None
    assert "checkpoint-2 holds weights alone (save_only_model)" in capsys.readouterr().err
    for checkpoint in (True, str(tmp_path / "checkpoint-1")):
        with pytest.raises(ValueError, match=r"-\d has no optimizer .*save_only_model at False"):
            made().train(resume_from_checkpoint=checkpoint)


@pytest.mark.parametrize(("owner", "name"), [(torch, "save"), (checkpoints, "seal")])
def test_a_full_disk_leaves_no_half_written_checkpoint(tmp_path, monkeypatch, owner, name):
    """Its space is free again, and the checkpoint before it is whole."""
    made, original = saving(tmp_path), getattr(owner, name)

    def write(*arguments, **options):
        if made.state.global_step == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, write)
    with pytest.raises(OSError, match="No space left"):
        made.train()
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-2"]
    assert checkpoints.last_whole(tmp_path) == tmp_path / "checkpoint-2"


def claim(folder):
    return folder.claim({"seed": 0}, defaults={"seed": 0}, code={}, world_size=1, device="cpu")


def test_a_run_killed_at_the_very_end_is_finished_and_its_checkpoints_go(tmp_path):
    folder = run_folder.RunFolder(tmp_path)
    folder.finish(claim(folder))
    (folder.checkpoints / "checkpoint-2").mkdir(parents=True)
    assert claim(folder)["status"] == run_folder.FINISHED
    assert not folder.checkpoints.exists()


def test_a_second_run_in_a_folder_waits_for_the_first(tmp_path, monkeypatch, capsys):
    """Both would append to one log and write one checkpoint."""
    config = train_config.TrainConfig(model="small-sums", output=tmp_path / "run", device="cpu")
    entered = threading.Event()

    def claimed(*_):
        entered.set()
        return {"status": run_folder.FINISHED}

    monkeypatch.setattr(training, "_claim", claimed)
    second = threading.Thread(target=training.train, args=(config,))
    with run_folder.RunFolder(tmp_path / "run").alone():
        second.start()
        assert not entered.wait(0.5)
    second.join(60)
    assert entered.is_set()
    assert "another process is at work on" in capsys.readouterr().err


def test_a_gradient_that_is_no_number_does_not_reach_the_weights(tmp_path):
    """The step's rows are kept to be looked at, and one sentence says what to lower."""
    made = llama_trainer(tmp_path, update_rules.get("grpo"), steps=3, learning_rate=0.1,
                         micro_batches=2)
    original = made._compute_loss

    def loss(model, inputs):
        spoiled = made.state.global_step == 1 and len(made.micro_batches) == 1
        return original(model, inputs) * (float("nan") if spoiled else 1.0)

    before = {}
    made._compute_loss = lambda *arguments: (before.update(weights(made)), loss(*arguments))[1]
    with pytest.raises(ValueError, match=r"gradient of step 2 is not finite.*learning_rate"):
        made.train()
    for name, weight in weights(made).items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)
    kept = torch.load(tmp_path / faults.DIVERGED, weights_only=True)
    assert kept["step"] == 1
    assert len(kept["micro_batches"]) == 2
    assert kept["micro_batches"][0]["completion_ids"].shape[0] == 12


OUT_OF_MEMORY = (
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
)
GPU_IS_LOST = RuntimeError("CUDA error: unspecified launch failure\nCompile with `TORCH_USE_CUDA_DSA`")


def failing(folder, place, error):
    """A trainer that meets the error where it samples, computes its loss or first steps."""
    made = llama_trainer(folder, update_rules.get("grpo"))

    def fail(*_, **__):
        raise error

    if place == "optimizer":
        made.create_optimizer()
        made.optimizer.step = fail
    else:
        setattr(made, place, fail)
    return made


IS_A_BUG = RuntimeError("CUDA error: device-side assert triggered")
"""Keeps its traceback."""
TOO_MANY = r"24 completions of up to 6 tokens.*micro_batches.*max_new"


@pytest.mark.parametrize(("place", "error", "kind", "message"), [
    ("_generate_single_turn", OUT_OF_MEMORY[0], OSError, TOO_MANY),
    ("optimizer", OUT_OF_MEMORY[1], OSError, TOO_MANY),
    ("_compute_loss", GPU_IS_LOST, OSError, r"GPU no longer answers \(CUDA error.*same command again"),
    ("_compute_loss", IS_A_BUG, RuntimeError, str(IS_A_BUG))], ids=range(4))
def test_what_a_gpu_cannot_do_names_what_to_change(tmp_path, place, error, kind, message):
    """Wherever in the step: a GPU is often full only when the optimizer makes its moments."""
    with pytest.raises(kind, match=message):
        failing(tmp_path, place, error).train()


def test_sampling_names_its_own_settings(monkeypatch):
    """What evaluate and sample say."""
    model, tokenizer = llama()

    def fail(*_, **__):
        raise OUT_OF_MEMORY[0]

    monkeypatch.setattr(model, "forward", fail)
    with pytest.raises(OSError, match=r"32 completions of up to 6 tokens.*lower batch_size or max_new"):
        sampling.sample(model, tokenizer, ["57="], max_new_tokens=6)


def deepspeed(norm, **attributes):
    """As accelerate wraps DeepSpeed's engine: gradients are not where torch has them."""
    engine = SimpleNamespace(get_global_grad_norm=lambda: norm)
    return SimpleNamespace(distributed_type=SimpleNamespace(value="DEEPSPEED"), scaler=None,
                           deepspeed_engine_wrapped=engine, **attributes)


def test_an_overflow_of_float16_is_skipped_until_no_scale_helps(tmp_path):
    """GradScaler overflows on purpose: it raises the scale until a gradient does."""
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=10**6)
    accelerator = SimpleNamespace(distributed_type=SimpleNamespace(value="NO"), scaler=scaler)
    model = torch.nn.Linear(2, 2)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, float("inf"))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler.scale(torch.ones(()))
    for _ in range(2):  # 4, 2
        scaler.unscale_(optimizer)
        faults.check_gradient(model, accelerator, folder=tmp_path, step=1, rows=[])
        before = model.weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        torch.testing.assert_close(model.weight.detach(), before, rtol=0, atol=0)
    with pytest.raises(ValueError, match=r"gradient of step 2 is not finite.*those after step 1"):
        faults.check_gradient(model, accelerator, folder=tmp_path, step=1, rows=[])


def test_a_gradient_in_deepspeed_s_buffers_is_checked(tmp_path):
    """There a parameter has no gradient, and to look at those found nothing to refuse."""
    model, value = torch.nn.Linear(2, 2), float("nan")
    with pytest.raises(ValueError, match="go on from the last checkpoint"):
        faults.check_gradient(
            model, deepspeed(value, optimizer_step_was_skipped=False), folder=tmp_path, step=1, rows=[])
    for fine in (deepspeed(value, optimizer_step_was_skipped=True), deepspeed(2.0),
                 deepspeed(torch.tensor(2.0)), deepspeed(None)):
        faults.check_gradient(model, fine, folder=tmp_path, step=1, rows=[])
