"""The settings of transformers' generation: which of them bend what is drawn, and which do not.

A checkpoint may declare any of them, and generation fills whatever is left unset from there, in silence.
"""

from __future__ import annotations

from typing import Any

from llm_bridge.data.private_names import default_settings

PLAIN_SAMPLING: dict[str, tuple[Any, ...]] = {
    "do_sample": (True,), "temperature": (1.0, None), "top_k": (0, None),
    "top_p": (1.0, None), "min_p": (0.0, None),
    "typical_p": (1.0, None), "epsilon_cutoff": (0.0, None), "eta_cutoff": (0.0, None),
    "top_h": (None,), "repetition_penalty": (1.0, None), "no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1.0, None), "encoder_no_repeat_ngram_size": (0, None),
    "num_beams": (1, None), "bad_words_ids": (None,),
    "min_length": (0, None), "min_new_tokens": (0, None), "suppress_tokens": (None,),
    "begin_suppress_tokens": (None,), "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,), "sequence_bias": (None,), "guidance_scale": (1.0, None),
    "penalty_alpha": (None,), "exponential_decay_length_penalty": (None,),
    "watermarking_config": (None,), "diversity_penalty": (0.0, None), "num_return_sequences": (1, None),
    "num_beam_groups": (1, None), "constraints": (None,), "force_words_ids": (None,),
    "dola_layers": (None,), "remove_invalid_values": (False, None), "token_healing": (False, None),
    "prompt_lookup_num_tokens": (None,), "assistant_early_exit": (None,), "speculation_type": (None,),
    "use_mtp": (False, None), "max_time": (None,), "stop_strings": (None,),
    "return_dict_in_generate": (False, None),
    "cache_implementation": (
        None, "dynamic", "dynamic_full", "static", "offloaded", "offloaded_static", "sliding_window",
        "hybrid"),
}
"""The settings that act on what is drawn, and the values at which they leave pi^T as it is."""

BY_TOKEN = frozenset((
    "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "repetition_penalty",
    "no_repeat_ngram_size", "encoder_repetition_penalty", "encoder_no_repeat_ngram_size", "bad_words_ids",
    "min_length", "min_new_tokens", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
    "forced_eos_token_id", "sequence_bias", "guidance_scale", "exponential_decay_length_penalty",
    "watermarking_config",
))
"""Those of them that make another distribution of each next token's, from which it is then drawn."""

HARMLESS = frozenset((
    "max_length", "max_new_tokens", "use_cache", "cache_config", "max_cache_len", "early_stopping",
    "length_penalty", "renormalize_logits", "output_attentions", "output_hidden_states",
    "output_scores", "output_logits", "pad_token_id", "bos_token_id", "eos_token_id",
    "decoder_start_token_id", "is_assistant", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "assistant_confidence_threshold", "max_matching_ngram_size",
    "assistant_lookbehind", "target_lookbehind", "assistant_ensemble_weight", "compile_config",
    "disable_compile", "continuous_batching_config", "low_memory", "prefill_chunk_size",
    "transformers_version",
))
"""Those that every caller here sets itself, that act beside another one only, or on no probability."""


def settings_that_bend(config: Any) -> dict[str, Any]:
    """Return the settings of a generation config under which samples are not those of pi^T, by name.

    One that nobody has classified, as a later release may bring, counts among them unless it is unset or
    at its default. Settings that transformers has no name for are read by nobody.
    """
    plain = type(config)()
    defaults = vars(plain) | default_settings(plain)
    return {
        name: value for name in vars(plain)
        if name[0] != "_" and name not in HARMLESS
        and (value := getattr(config, name, None)) not in PLAIN_SAMPLING.get(
            name, (None, defaults.get(name)))
    }
