(** Tempered REINFORCE, with GRPO of any weight beside it, cannot hold entropy above log m, m the number of
    right answers: along any run of exact expected steps, whatever the temperatures in a range, every entropy is
    below the ceiling of the start, the reward tends to 1, and limsup H <= log m. An extension of AEPO's
    Section 4.2, for one state with independent logits. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Groups Learning
  LearningLimits.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate alpha low high : R)
    (temperature grpo_weight : nat -> R),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  0 < learning_rate -> 0 < alpha -> 0 < low ->
  (forall k, low <= temperature k <= high) -> (forall k, 0 <= grpo_weight k) ->
  let path := run n correct learning_rate alpha temperature grpo_weight logits in
  (forall k, entropy n (path k) <= ceiling n logits correct)
  /\ tends_to (fun k => total_on n correct (softmax n (path k))) 1
  /\ limsup_at_most (fun k => entropy n (path k)) (ln (count_on n correct)).

Theorem proved : statement.
Proof.
  intros n logits correct learning_rate alpha low high temperature grpo_weight two some not_all
    rate_pos alpha_pos low_pos range weights path.
  pose proof (some_wrong n correct not_all) as wrong.
  repeat split.
  - intros k.
    apply (run_below_ceiling n correct learning_rate alpha temperature grpo_weight logits some wrong
             rate_pos alpha_pos weights 0 k); lia.
  - exact (reward_tends_to_1 n correct learning_rate alpha low high temperature grpo_weight logits
             some wrong rate_pos alpha_pos low_pos range weights).
  - exact (limsup_entropy n correct learning_rate alpha low high temperature grpo_weight logits
             some wrong rate_pos alpha_pos low_pos range weights).
Qed.
