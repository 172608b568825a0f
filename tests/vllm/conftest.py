"""These tests run where vLLM is (`make test-vllm`), and are skipped elsewhere."""

import importlib.util
import os
import warnings

import pytest

# What vLLM reads as it is imported: a small cache of keys and values, threads that it does not bind to
# cores, and an engine in this process, as TRL has it.
os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
               "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "WARNING",
               "VLLM_CPU_CI_ENV": "1", "HF_HUB_OFFLINE": "1"}

if importlib.util.find_spec("vllm") is not None:
    # vLLM and what it brings warn as they are imported; in the tests themselves warnings stay errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import trl.generation.vllm_generation  # noqa: F401
        import vllm  # noqa: F401


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """small-sums in float32, as a folder that vLLM loads."""
    from llm_bridge.data import models

    model, tokenizer = models.load("small-sums")
    path = tmp_path_factory.mktemp("model")
    model.float().save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)
