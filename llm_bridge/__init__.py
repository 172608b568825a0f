"""The update rules of `entropy_theory` on Hugging Face language models, through TRL.

- `models`, `tasks`, `rewards`: what is trained, on what, how it is judged;
- `loss`: the one bridge from a rule to autograd; `trainer`: the rules inside TRL's GRPOTrainer;
- `training`: a run as a folder, safe to kill; `audit`: forecast beside measured entropy change;
- `sampling`, `evaluation`: completions from pi^T, pass@1 and unbiased pass@k.

``python -m llm_bridge --help`` has examples.
"""
