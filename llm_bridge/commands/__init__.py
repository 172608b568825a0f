"""The long commands of ``python -m llm_bridge``: a training run as a folder, and pretraining."""

from entropy_theory.support.user_errors import need

need(__name__, "torch", "transformers", "trl")
