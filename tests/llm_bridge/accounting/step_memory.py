"""Prints the peaks of memory of one step's forecast and account, in gradients of the model.

    python -m tests.llm_bridge.accounting.step_memory

Each is beyond the weights and their own gradient: a forecast; one divided over tokens; an account, with
its forecast before; and one of a path that Radau's rule does not account for.
"""

from types import SimpleNamespace

import torch
from accelerate import Accelerator

from llm_bridge.accounting.entropy_gradient import EntropyGradient, StepRows
from llm_bridge.accounting.step_accountant import StepAccountant
from tests.llm_bridge.memory import peak_of

LAYERS, WIDTH, ACTIONS = 32, 512, 8


class Layers(torch.nn.Module):
    """A policy of many weights of one size, at two states."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(attention_dropout=0.0)
        self.layers = torch.nn.ParameterList(
            torch.randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(LAYERS))

    def statistics(self) -> SimpleNamespace:
        hidden = torch.ones(2, 1, WIDTH)
        for weight in self.layers:
            hidden = hidden + 0.1 * (hidden @ weight).tanh()
        log_probs = hidden[..., :ACTIONS].log_softmax(-1)
        return SimpleNamespace(
            entropy=-(log_probs.exp() * log_probs).sum(-1), log_prob=log_probs[..., 0])


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Layers()
    size = 4 * LAYERS * WIDTH**2
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gradient = EntropyGradient(model, Accelerator(cpu=True))
    rows = [StepRows(statistics=model.statistics, measure=torch.full((2, 1), 0.5),
                     moved={"log_prob": torch.tensor([[1.0], [-1.0]])})]
    seen = model.statistics()
    (-seen.log_prob.sum()).backward()
    del seen

    def forecast(*, tokens: bool) -> None:
        made = StepAccountant(gradient, rows, optimizer, keeps="slope" if tokens else "nothing")
        if tokens:
            made.announced_tokens()

    def account(share: float, points: int) -> None:
        made = StepAccountant(gradient, rows, optimizer)
        optimizer.step()
        assert made.finish(share=share, most_points=4).account.points == points

    account(1.0, points=2)  # loads what a first call loads
    for call in (
        lambda: forecast(tokens=False), lambda: forecast(tokens=True),
        lambda: account(1.0, points=2), lambda: account(1e-9, points=4),
    ):
        print(peak_of(call) / size)


if __name__ == "__main__":
    main()
