(** GRPO plus tempered REINFORCE (AEPO, Eq. 1) raises entropy, to first order, exactly if F(T) > 0 and
    alpha > kappa |F(1)|/F(T), where F(1) < 0; and then it does so exactly, in every step whose learning rate is
    below 4 (kappa F(1) + alpha F(T))/((1 + log n) ||step||^2). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Curvature EntropyChange FirstOrder
  Learning CombinedUpdate.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature grpo_weight alpha : R),
  (1 <= n)%nat -> 0 < temperature -> 0 < grpo_weight -> 0 <= alpha ->
  untempered_rate n logits correct < 0 ->
  let step := combined_step n logits correct temperature grpo_weight alpha in
  let total := - covariance n (softmax n logits) logits step in
  let squares := sum n (fun a => step a * step a) in
  total = grpo_weight * untempered_rate n logits correct + alpha * rate n logits correct temperature
  /\ derivative (fun eta => entropy n (fun a => logits a + eta * step a)) 0 total
  /\ (0 < total <->
      0 < rate n logits correct temperature
      /\ grpo_weight * Rabs (untempered_rate n logits correct) / rate n logits correct temperature < alpha)
  /\ (forall learning_rate, 0 < learning_rate ->
        remainder_bound n (fun a => learning_rate * step a) < learning_rate * total
        \/ learning_rate * ((1 + ln (INR n)) * squares) < 4 * total ->
        0 < entropy_change n logits (fun a => learning_rate * step a)).

Theorem proved : statement.
Proof.
  intros n logits correct temperature grpo_weight alpha some T_pos kappa_pos alpha_nonneg falls
    step total squares.
  assert (0 < n)%nat as inhabited by lia.
  pose proof (first_order_of_combined_step n logits correct temperature grpo_weight alpha inhabited) as sum_of.
  fold step in sum_of; fold total in sum_of.
  rewrite sum_of.
  split; [reflexivity|split; [|split]].
  - apply is_derive_Reals, is_derive_entropy_combined, inhabited.
  - apply balance; assumption.
  - intros learning_rate rate_pos [small|small].
    + apply small_steps_rise; assumption.
    + apply small_steps_rise; [assumption|]; apply small_enough; assumption.
Qed.
