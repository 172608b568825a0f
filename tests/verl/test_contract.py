"""Guards the verl adapter: what it takes of verl is there, with the arguments that it takes.

Sources are read and not imported: verl's trainers want packages that its base does not install. A verl
that differs fails here, and not on a user's cluster.
"""

import ast
from pathlib import Path

import pytest

pytest.importorskip("verl")

import verl

FOLDER = Path(verl.__file__).parent
TAKEN = {
    ("trainer/ppo/v1/trainer_base.py", "PPOTrainer"): {
        "prepare_step": "self", "step": "self metrics timing_raw",
        "_step_once": "self metrics timing_raw sample_batch_size",
        "_submit_batch_to_rollout": "self batch",
        "_compute_reward_colocate": "self batch metrics", "_compute_old_log_prob": "self batch metrics",
        "_compute_ref_log_prob": "self batch metrics", "_compute_values": "self batch metrics",
        "_compute_advantage": "self batch metrics", "_update_critic": "self batch metrics",
        "_update_actor": "self batch metrics",
        "_balance_batch": "self batch metrics logging_prefix keep_minibatch",
        "_save_checkpoint": "self", "_load_checkpoint": "self"},
    ("trainer/ppo/v1/trainer_sync.py", "PPOTrainerSync"): {
        "on_sample_end": "self", "on_step_end": "self"},
    ("trainer/ppo/v1/replay_buffer.py", "ReplayBuffer"): {
        "sample": "self global_steps partition_id batch_size"},
    ("experimental/agent_loop/agent_loop.py", "AgentLoopWorker"): {
        "_run_agent_loop": "self sampling_params trajectory agent_name trace"},
    ("workers/engine_workers.py", "TrainingWorker"): {
        "set_loss_fn": "self loss_fn", "train_mini_batch": "self data", "train_batch": "self data",
        "infer_batch": "self data",
        "save_checkpoint": "self local_path hdfs_path global_step max_ckpt_to_keep",
        "load_checkpoint": "self local_path hdfs_path del_local_after_load"},
    ("workers/engine/fsdp/transformer_impl.py", "FSDPEngine"): {
        "forward_backward_batch": "self data loss_function forward_only", "optimizer_step": "self"},
}


@pytest.mark.parametrize(("path", "name"), TAKEN)
def test_methods_have_the_arguments_that_are_given(path, name):
    module = ast.parse((FOLDER / path).read_text())
    (found,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    there = {node.name: " ".join(a.arg for a in (*node.args.args, *node.args.kwonlyargs))
             for node in found.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert {method: there.get(method) for method in TAKEN[path, name]} == TAKEN[path, name]


def test_what_a_second_batch_rests_on_holds():
    """A prompt's columns reach its agent loop, the sampler's options come as an argument, and logits are
    divided by the one temperature of the policy."""
    loop = (FOLDER / "trainer/ppo/v1/agent_loop_tq.py").read_text()
    assert "run_sampling_params, trajectory=trajectory, trace=trace, session_id=i, **prompt" in loop
    trainer = (FOLDER / "trainer/ppo/v1/trainer_base.py").read_text()
    assert '"temperature": self.config.actor_rollout_ref.rollout.temperature' in trainer
    runner = (FOLDER / "trainer/main_ppo.py").read_text()
    assert '.get("agent_loop_manager_class")' in runner
    assert "get_trainer_cls(config.trainer.v1.trainer_mode)" in runner
