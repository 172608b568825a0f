"""The update rules of `entropy_theory` on Hugging Face language models, through TRL.

- `data`: the models, tasks and rewards that rules are trained on;
- `head`, `forward`: log-probabilities and entropies of sampled tokens, without holding the logits;
- `sampling`, `evaluation`: completions from pi^T, pass@1 and unbiased pass@k;
- `objective`: the one bridge from a rule to autograd (`objective.loss`);
- `trainer`: the rules inside TRL's GRPOTrainer;
- `verl_plugin`, `verl_worker`: the rules inside verl;
- `skyrl_plugin`: the rules inside SkyRL;
- `commands`, `recipes`: ways to start a run;
- `running`: the run's folder, checkpoints and faults;
- `analysis`, `diagnostics`: forecasts beside measured entropy changes, runs side by side.

``python -m llm_bridge --help`` has examples.
"""
