"""The long commands of ``python -m llm_bridge``: a training run as a folder, and pretraining."""
