(** AEPO, Section 4.2, where tempered REINFORCE is a signal towards higher quality, as repaired: if some action
    is wrong, and T <= 1 or p m sum_A q^2 <= 1 (one right answer, equally likely ones, or p <= 1/m), then the
    reward p rises in the exact expected step, for every learning rate; and so do its log-odds. As printed, for
    every T, it is false: above T = 1 the likeliest right answers can lose more than the others gain. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Conditional Learning Reward.
Open Scope R_scope.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct -> 0 < temperature -> 0 < learning_rate ->
  let p (z : vector) := total_on n correct (softmax n z) in
  let q := conditional n logits correct in
  temperature <= 1 \/ p logits * count_on n correct * total_on n correct (fun a => q a * q a) <= 1 ->
  let step := unit_step n logits correct temperature in
  p logits < p (moved learning_rate logits step)
  /\ 0 < ln (1 + total_on n correct (fun a => q a * (exp (learning_rate * step a) - 1)))
         - ln (1 + total_on n (complement correct)
                     (fun a => conditional n logits (complement correct) a
                               * (exp (learning_rate * step a) - 1))).

Theorem proved : repair.
Proof.
  intros n logits correct temperature learning_rate two some not_all T_pos rate_pos p q either step.
  pose proof (some_wrong n correct not_all) as wrong.
  pose proof (keeps_answers n logits correct temperature some wrong T_pos either) as keeps.
  split.
  - exact (reward_rises n logits correct temperature learning_rate some wrong rate_pos keeps).
  - exact (log_odds_rise n logits correct temperature learning_rate some wrong rate_pos keeps).
Qed.
