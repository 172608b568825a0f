"""prime-rl's options: ``rl.toml`` (src/prime_rl/trainer/rl/loss.py, orchestrator/algo)."""

from __future__ import annotations

import math

from llm_bridge.translation.engine import Choice, Engine, Linear, Loss, Term

L, S = "trainer.loss.", "orchestrator.train.sampling."
_ANCHORED = {"anchor": "sampling", "truncation": math.inf, "kind": "total-variation"}
PRIME_RL = Engine(
    name="prime-rl", version="of 2026-08-21", style="toml",
    defaults={
        L + "type": "default", L + "dppo_mask_low": 0.2, L + "dppo_mask_high": 0.2, L + "adv_tau": 1.0,
        L + "kl_tau": 1e-3, L + "ipo_threshold": 0.1, "orchestrator.algo.type": "grpo",
        "orchestrator.algo.length_penalty": None, "orchestrator.group_size": 1, S + "temperature": 1.0,
        S + "max_completion_tokens": None, "trainer.optim.lr": 1e-6, "model.name": None,
    },
    settings={
        "model": "model.name", "temperature": S + "temperature",
        "samples_per_prompt": "orchestrator.group_size",
        "max_new_tokens": S + "max_completion_tokens", "learning_rate": "trainer.optim.lr",
    },
    only={L + "adv_tau": (1.0,), "orchestrator.algo.length_penalty": (None,)},
    loss=Choice(by=(L + "type",), of={
        ("default",): Loss(
            rule="dppo", fixed={**_ANCHORED, "two_sided": False},
            options={"delta_low": L + "dppo_mask_low", "delta_high": L + "dppo_mask_high"}),
        ("ipo",): Loss(
            rule="dppo", fixed={**_ANCHORED, "two_sided": True},
            options={"delta_low": L + "ipo_threshold", "delta_high": L + "ipo_threshold"}),
    }),
    estimator=Choice(by=("orchestrator.algo.type",), of={
        ("grpo",): ("group-centered", 0), ("max_rl",): ("max-likelihood", 0)}),
    # Each token counts the same there, over all of the step's.
    normalization=Choice(by=(), of={(): ("token-mean", None)}),
    terms=(
        # kl_tau (log r)^2 is half of beta (log r)^2.
        Term(rule="dro", positive=L + "kl_tau", options={"beta": Linear(L + "kl_tau", factor=2.0)},
             fixed={"anchor": "sampling"}),
    ),
)
