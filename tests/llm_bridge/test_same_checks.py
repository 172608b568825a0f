"""Guards that a script is refused what a command is refused, with the same words."""

import datasets
import pytest

from entropy_theory import update_rules
from llm_bridge import evaluation
from llm_bridge.commands import train as training
from llm_bridge.commands.train_config import TrainConfig, resolved
from llm_bridge.data import models, tasks
from llm_bridge.data.rewards import exact
from llm_bridge.sampling import sampling
from llm_bridge.trainer import EntropyTrainer, grpo_config
from tests.llm_bridge.language_models import low_digit, tabular_trainer, tiny_llama


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("llama") / "model")


def llama_trainer(folder, output, prompts, *, dtype="float32"):
    model, tokenizer = models.load(str(folder), dtype=dtype)
    models.sample_plainly(model, tokenizer)
    return EntropyTrainer(
        model, [low_digit], rule=update_rules.get("grpo"), processing_class=tokenizer,
        train_dataset=prompts if not isinstance(prompts, list)
        else datasets.Dataset.from_dict({"prompt": prompts}),
        args=grpo_config(output, use_cpu=True, per_device_train_batch_size=4, num_generations=2,
                         max_completion_length=6, max_steps=1, disable_tqdm=True, save_strategy="no"))


def message(call) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        call()
    return str(caught.value)


def test_prompts_without_room(tmp_path, folder):
    """In a command, a trainer, an evaluation and a draw, and in a stream when it is drawn from."""
    prompt, data = "1" * 70, tmp_path / "mine.jsonl"
    data.write_text("".join(f'{{"prompt": "{text}", "answer": "1"}}\n' for text in ("1", prompt)))
    config = resolved(TrainConfig(
        model=str(folder), data=data, output=tmp_path / "run", steps=1, prompts=2, samples=2,
        max_new_tokens=6, device="cpu"))
    said = message(lambda: training.train(config))
    assert "71 tokens and 6 new ones exceed the model's 64 positions" in said
    assert message(lambda: llama_trainer(folder, tmp_path, ["1", prompt])) == said
    model, tokenizer = models.load(str(folder))
    task = tasks.Task(name="mine", prompts=("1", prompt), answers=("1", "1"), reward=exact,
                      max_new_tokens=6)
    assert message(lambda: evaluation.evaluate(model, tokenizer, task, num_samples=2)) == said
    assert message(lambda: sampling.sample(
        model, tokenizer, ["1", prompt], max_new_tokens=6)) == said
    stream = datasets.IterableDataset.from_generator(lambda: ({"prompt": prompt} for _ in range(8)))
    assert message(llama_trainer(folder, tmp_path, stream).train) == said


def test_an_empty_prompt(folder):
    """Also one among others, where the tokenizer puts no token in front."""
    model, tokenizer = models.load(str(folder))
    tokenizer.add_bos_token = False
    if tokenizer("").input_ids:
        pytest.skip("this tokenizer always writes its first token")
    with pytest.raises(ValueError, match="an empty prompt has no tokens"):
        sampling.sample(model, tokenizer, ["1", ""], max_new_tokens=6)


def texts(completions, **_):
    return ["1.0"] * len(completions)


async def texts_later(completions, **_):
    return ["1.0"] * len(completions)


@pytest.mark.parametrize("reward", [texts, texts_later])
def test_rewards_that_are_no_numbers(tmp_path, reward):
    """A text that reads as a number passed, to fail in torch; what is asynchronous was not looked at."""
    found = message(tabular_trainer(tmp_path, update_rules.get("grpo"), reward=reward).train)
    assert f"reward function '{reward.__name__}' returned" in found
