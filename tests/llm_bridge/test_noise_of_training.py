"""Guards llm_bridge/forward/evaluation_mode.py and llm_bridge/trainer/scoring.py.

What a model does in training alone, on whatever option or module, is no part of the policy that drew.
"""


import pytest
import torch
import transformers

from llm_bridge.commands import pretrain
from llm_bridge.data import models
from llm_bridge.forward import evaluation_mode
from tests.llm_bridge.language_models import drawn_step, read_by_hand

SIZES = {
    "vocab_size": 18, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.5, "init_std": 0.5,
}
OF_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
FAMILIES = {
    "opt": {"ffn_dim": 32, "word_embed_proj_dim": 16, "layerdrop": 0.5}, "gpt2": OF_GPT,
    "bart": {"d_model": 16, "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 32,
             "is_decoder": True, "is_encoder_decoder": False, "decoder_layerdrop": 0.5},
    "llama": {},
    "phimoe": {"num_local_experts": 4, "router_jitter_noise": 0.3, "input_jitter_noise": 0.3},
    "mamba": {"state_size": 4},
}
"""One of each kind of noise."""


def noisy(kind):
    """A tiny random model of a family, with all its dropout at 0.1."""
    torch.manual_seed(0)
    config = transformers.CONFIG_MAPPING[kind](**SIZES | FAMILIES[kind])
    for name, value in list(vars(config).items()):
        if "drop" in name and isinstance(value, float) and not value:
            setattr(config, name, 0.1)
    return transformers.AutoModelForCausalLM.from_config(config)


def one_step(folder, model, **options):
    """Take a step; return its trainer, its record, and the rows that were drawn."""
    tokenizer = pretrain.build_tokenizer()
    models.sample_plainly(model, tokenizer)
    return drawn_step(folder, model, tokenizer, **options)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_policy_that_is_trained_is_the_one_that_drew(tmp_path, kind):
    """Dropout by functions, layer drop, a router's noise: entropies were those of another policy."""
    plain = list(FAMILIES).index(kind) % 2
    options = {} if plain else {"micro_batches": 3, "gradient_checkpointing": True}
    model = noisy(kind)
    assert evaluation_mode.declared_noise(model) or kind == "mamba"
    if kind == "bart":  # which counts positions from the padding on, and knows no position_ids
        with pytest.raises(ValueError, match="rows or their padding act on one another"):
            one_step(tmp_path / "other", noisy(kind), **options)
        options = options | {"prompts": ("17=", "12=", "34=")}
    made, record, rows = one_step(tmp_path, model, rule="entropy-advantage", **options)
    tokenizer, plain = made.processing_class, made.model.eval()
    entropy = [read_by_hand(plain, tokenizer(text).input_ids, ids)[1].mean() for text, ids in rows]
    assert record["entropy"] == pytest.approx(float(torch.stack(entropy).mean()), abs=1e-4)


class Stubborn(torch.nn.Module):
    """Dropout that eval() does not reach, as `torch.nn.functional.dropout(hidden, rate)` is."""

    def __init__(self, around, rate):
        super().__init__()
        self.around, self.rate = around, rate

    def forward(self, hidden):
        return torch.nn.functional.dropout(self.around(hidden), self.rate)


class Jitter(Stubborn):
    """Noise far below what rounding may explain."""

    def forward(self, hidden):
        return self.around(hidden) * (1 + self.rate * torch.randn_like(hidden[..., :1]))


class CutOff(Stubborn):
    """Experts that are called without gradients after eval(), as in DeepSeek's own code."""

    def forward(self, hidden):
        if self.training:
            return self.around(hidden)
        with torch.no_grad():
            return self.around(hidden)


@pytest.mark.parametrize(("kind", "rate", "message", "options"), [
    (Stubborn, 0.1, "Stubborn draw random numbers", {"num_iterations": 2, "rule": "gspo"}),
    (Jitter, 1e-5, "Jitter draw random numbers", {"micro_batches": 3}),
    (CutOff, 0.0, "Linear of LlamaForCausalLM would not be tr", {"gradient_checkpointing": True}),
])
def test_what_no_mode_reaches_is_refused_by_name(tmp_path, kind, rate, message, options):
    model = noisy("llama")
    layer = model.model.layers[0].mlp
    layer.down_proj = kind(layer.down_proj, rate)
    with pytest.raises(ValueError, match=message):
        one_step(tmp_path, model, **options)


def test_a_model_that_rescales_its_weights_is_refused(tmp_path):
    """Those that it trained would be saved divided."""
    config = transformers.RwkvConfig(**SIZES, attention_hidden_size=16, context_length=64)
    with pytest.raises(ValueError, match=r"rescale_every=6.*set it to 0"):
        one_step(tmp_path, transformers.RwkvForCausalLM(config))


def test_a_sampler_that_draws_from_something_else_is_refused(tmp_path, monkeypatch):
    """A past that is not what was read."""
    original = transformers.DynamicCache.batch_select_indices
    monkeypatch.setattr(transformers.DynamicCache, "batch_select_indices",
                        lambda self, indices: original(self, indices.flip(0)))
    with pytest.raises(
        ValueError, match=r"the sampler and a row-by-row pass of LlamaForCausalLM .* nats per token"
    ):
        one_step(tmp_path, noisy("llama"))


def test_modes_and_methods_are_as_before_a_run(tmp_path):
    model = noisy("opt")
    model.train()
    model.model.decoder.layers[0].eval()
    modes = [module.training for module in model.modules()]
    one_step(tmp_path, model, gradient_checkpointing=True)
    assert [module.training for module in model.modules()] == modes
    assert "train" not in vars(model)
    hooks = [hook for module in model.modules() for hook in module._forward_pre_hooks.values()]
    assert not [hook for hook in hooks if hook.__module__ == evaluation_mode.__name__]


def test_layers_go_on_being_checkpointed(tmp_path, monkeypatch):
    """transformers checkpoints in training mode alone: memory would be that of a run without."""
    calls = []
    model = noisy("opt")
    original = type(model)._set_gradient_checkpointing  # what each transformers' own option ends in

    def counting(self, *arguments, **options):
        original(self, *arguments, **options)
        for layer in model.model.decoder.layers:
            function = layer._gradient_checkpointing_func
            layer._gradient_checkpointing_func = lambda *given, f=function: (
                calls.append(1) or f(*given))

    monkeypatch.setattr(type(model), "_set_gradient_checkpointing", counting)
    one_step(tmp_path, model, gradient_checkpointing=True)
    assert len(calls) == 2  # layers of one pass
