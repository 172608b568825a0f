(** Up to which temperature an expected step of tempered REINFORCE improves the reward, to first order. Its
    derivative along the step is P_T r(T), where r(T) = <grad p, q^T - pi> does not increase with T and is at
    least p (1 - p)^2 sum_A q^2 for T <= 1. So it is positive exactly for T < T_R, where 1 < T_R <= infinity;
    and T_R is infinite exactly if (1 - p)/m + sum_{wrong} pi^2 >= p (1 - p) sum_A q^2. An extension of AEPO's
    Section 4.2. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks Conditional Learning Reward
  RewardRate.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat -> nonempty n correct -> ~ everything n correct ->
  let pi := softmax n logits in
  let p := total_on n correct pi in
  let q := conditional n logits correct in
  let squares := total_on n correct (fun a => q a * q a) in
  let wrong_squares := total_on n (complement correct) (fun a => pi a * pi a) in
  let rate (T : R) := covariance n pi (only correct (fun _ => 1))
                        (fun a => conditional n (tempered T logits) correct a - pi a) in
  (forall T, 0 < T ->
     derivative (fun eta => total_on n correct
                   (softmax n (fun a => logits a + eta * unit_step n logits correct T a))) 0
       (total_on n correct (softmax n (tempered T logits)) * rate T))
  /\ (forall T T', 0 < T -> T <= T' -> rate T' <= rate T)
  /\ (forall T, 0 < T -> T <= 1 -> p * (1 - p) * (1 - p) * squares + p * wrong_squares <= rate T)
  /\ ((forall T, 0 < T -> 0 < rate T)
      \/ exists T_R, 1 < T_R /\ forall T, 0 < T -> (0 < rate T <-> T < T_R))
  /\ ((forall T, 0 < T -> 0 < rate T)
      <-> p * (1 - p) * squares <= (1 - p) / count_on n correct + wrong_squares).

Theorem proved : statement.
Proof.
  intros n logits correct two some not_all pi p q squares wrong_squares rate.
  pose proof (some_wrong n correct not_all) as wrong.
  pose proof (nonempty_inhabited n correct some) as inhabited.
  split; [|split; [|split; [|split]]].
  - intros T T_pos; apply Coquelicot.Derive.is_derive_Reals.
    pose proof (is_derive_reward n logits correct (unit_step n logits correct T) inhabited) as slope.
    replace (total_on n correct (softmax n (tempered T logits)) * rate T)
      with (covariance n (softmax n logits) (hit correct) (unit_step n logits correct T)); [exact slope|].
    unfold rate; rewrite (covariance_sym n (softmax n logits)), (covariance_sym n pi (only correct _)), <- covariance_scal_l.
    apply covariance_ext; intros a inside; [|reflexivity].
    destruct (correct a) eqn:right.
    + rewrite unit_step_right by assumption.
      rewrite (softmax_conditional n correct some (tempered T logits) a) by assumption.
      unfold pi; ring.
    + rewrite unit_step_wrong, conditional_out by assumption; unfold pi; ring.
  - intros T T'; exact (rate_does_not_increase n logits correct some wrong T T').
  - intros T; exact (rate_when_cold n logits correct some wrong T).
  - exact (reward_temperature n logits correct some wrong).
  - exact (rises_at_every_temperature n logits correct some wrong).
Qed.
