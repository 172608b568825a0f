"""Launchers: how a run is started, in one process, on eight GPUs, or on several machines with servers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """The processes of `accelerate launch`, and vLLM; by default one process without a launcher."""

    name: str | None = None
    config: Literal["ddp", "fsdp2", "zero2", "zero3"] = "fsdp2"
    """The file of accelerate_configs/ to use."""
    machines: int = 1
    """The number of machines that train."""
    processes_each: int = 1
    """The number of processes on each machine, one for each GPU."""
    rows_at_once: int | None = None
    """The number of completions in a forward pass of a process; None: all of its share."""
    sampler: Literal["trl", "colocate", "server"] = "trl"
    """The sampler. "trl" is TRL's own generation, "colocate" vLLM in the training processes on the
    same GPUs, "server" vLLM on a machine of its own."""
    tensor_parallel: int = 1
    """The number of GPUs that share one copy of the model in vLLM."""
    data_parallel: int = 1
    """The number of copies of the model on the server."""
    memory_share: float = 0.3
    """Share of a GPU's memory for vLLM."""
    max_model_length: int | None = None
    """Longest prompt and completion together, in tokens; None: the model's own."""
    sleep: bool = False
    """Whether colocated vLLM gives its memory back while the model trains."""

    def __post_init__(self) -> None:
        for label in ("machines", "processes_each", "tensor_parallel", "data_parallel"):
            if getattr(self, label) < 1:
                raise ValueError(f"{label} must be at least 1, got {getattr(self, label)}")
        if not 0 < self.memory_share <= 1:
            raise ValueError(f"memory_share must be in (0, 1], got {self.memory_share}")

    @property
    def world(self) -> int:
        """The number of processes in all."""
        return self.machines * self.processes_each

    def trl_options(self) -> tuple[str, ...]:
        """Return the options of TRL that follow from the launcher, as name=value."""
        if self.sampler == "trl":
            return ()
        found = ["use_vllm=true", f"vllm_mode={self.sampler}"]
        if self.sampler == "colocate":
            found += [
                f"vllm_tensor_parallel_size={self.tensor_parallel}",
                f"vllm_gpu_memory_utilization={self.memory_share}",
                f"vllm_enable_sleep_mode={str(self.sleep).lower()}",
            ]
            if self.max_model_length is not None:
                found.append(f"vllm_max_model_length={self.max_model_length}")
        return tuple(found)

    def commands(self, run: str, model: str, trl_options: tuple[str, ...] = ()) -> list[str]:
        """Return the commands to type, one for each kind of machine.

        $MAIN, $RANK and $SERVER stand for the first machine's address, the machine's number from 0, and
        the server's address.

        Args:
            run: RECIPE or RECIPE:RUN.
            trl_options: the run's own options of TRL, to which the server's address is added.
        """
        target = f"-m llm_bridge train --recipe {shlex.quote(run)}"
        if self.name is not None:
            target += f" --launcher {self.name}"
        if self.world == 1:
            return [f"python {target}"]
        start = (
            f"accelerate launch --config_file llm_bridge/accelerate_configs/{self.config}.yaml "
            f"--num_processes {self.world}"
        )
        if self.machines > 1:
            start += (
                f" --num_machines {self.machines} --machine_rank $RANK --main_process_ip $MAIN "
                "--main_process_port 29500"
            )
        if self.sampler != "server":
            return [f"{start} {target}"]
        length = "" if self.max_model_length is None else f" --max_model_len {self.max_model_length}"
        server = (
            f"trl vllm-serve --model {shlex.quote(model)} --tensor_parallel_size "
            f"{self.tensor_parallel} --data_parallel_size {self.data_parallel} "
            f"--gpu_memory_utilization {self.memory_share}{length}"
        )
        options = " ".join(map(shlex.quote, trl_options))
        return [server, f"{start} {target} --trl-options {options} vllm_server_host=$SERVER"]
