(** AEPO, Theorem 4.3 and Corollary 4.4, for the exact change of entropy, repaired: where F(1) < 0, a temperature
    T > 1 leaves more entropy after one real step, for every learning rate below
    4 (F(T) - F(1)) / ((1 + log n)(||d_T||^2 + ||d_1||^2)), which is positive. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics TemperedReinforce TemperedRate Curvature CurvatureBounds EntropyChange FirstOrder.
From Trusted.Statements.aepo Require finite_step.
Open Scope R_scope.

(** The exact change by a step at one temperature, and at T = 1 written without one. *)
Definition change (n : nat) (logits : vector) (correct : mask) (temperature learning_rate : R) : R :=
  entropy_change n logits (fun a => learning_rate * unit_step n logits correct temperature a).

Notation untempered_step := Statements.aepo.finite_step.unit_step_without_temperature.

Lemma untempered_step_1 n z A a : (a < n)%nat -> unit_step n z A 1 a = untempered_step n z A a.
Proof.
  intros inside; unfold unit_step, untempered_step, only.
  rewrite softmax_tempered_1 by assumption.
  rewrite (total_on_ext n A (softmax n (tempered 1 z)) (softmax n z))
    by (intros; apply softmax_tempered_1; assumption).
  reflexivity.
Qed.

(** The bound on the learning rate is not empty: F(T) - F(1) is positive. *)
Theorem learning_rates_exist :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 1 < temperature -> rate n logits correct 1 < 0 ->
  0 < rate n logits correct temperature - rate n logits correct 1.
Proof.
  intros n logits correct temperature some hot falls.
  pose proof (rate_above_one n logits correct ltac:(lia) temperature ltac:(lra) ltac:(lra)); lra.
Qed.

(** The same for any two temperatures, without a hypothesis on signs. *)
Theorem warmer_leaves_more :
  forall (n : nat) (logits : vector) (correct : mask) (temperature reference learning_rate : R),
  (1 <= n)%nat ->
  remainder_bound n (fun a => learning_rate * unit_step n logits correct temperature a)
  + remainder_bound n (fun a => learning_rate * unit_step n logits correct reference a)
  < learning_rate * (rate n logits correct temperature - rate n logits correct reference) ->
  0 < change n logits correct temperature learning_rate - change n logits correct reference learning_rate.
Proof.
  intros n logits correct temperature reference learning_rate some small; unfold change.
  assert (forall T,
    Rabs (entropy_change n logits (fun a => learning_rate * unit_step n logits correct T a)
          - learning_rate * rate n logits correct T)
    <= remainder_bound n (fun a => learning_rate * unit_step n logits correct T a)) as error.
  { intros T; apply first_order_error_scaled; [lia|apply rate_of_step; lia]. }
  pose proof (proj1 (Rabs_le_between _ _) (error temperature)).
  pose proof (proj1 (Rabs_le_between _ _) (error reference)); lra.
Qed.

Theorem proved : Statements.aepo.finite_step.repair.
Proof.
  intros n logits correct temperature learning_rate many _ _ _ _ _ small.
  set (plain_step := fun a => learning_rate * untempered_step n logits correct a) in *.
  assert (forall a, (a < n)%nat -> plain_step a = learning_rate * unit_step n logits correct 1 a) as same
    by (intros; unfold plain_step; rewrite untempered_step_1 by assumption; reflexivity).
  change Statements.aepo.finite_step.remainder_bound with remainder_bound in small.
  replace (remainder_bound n plain_step)
    with (remainder_bound n (fun a => learning_rate * unit_step n logits correct 1 a)) in small.
  2: { unfold remainder_bound; f_equal; f_equal; apply sum_ext; intros; rewrite same by assumption; reflexivity. }
  replace (entropy_change n logits plain_step)
    with (entropy_change n logits (fun a => learning_rate * unit_step n logits correct 1 a)).
  2: { unfold entropy_change; f_equal; apply entropy_ext; intros; unfold moved_by.
       rewrite same by assumption; reflexivity. }
  change (Statements.aepo.finite_step.rate_without_temperature n logits correct)
    with (untempered_rate n logits correct) in small.
  rewrite <- rate_1 in small.
  pose proof (warmer_leaves_more n logits correct temperature 1 learning_rate ltac:(lia) small) as gain.
  apply Rminus_gt_0_lt; exact gain.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.finite_step.witness.
Proof.
  exists 2%nat, one_to_four, (fun a => Nat.eqb a 1), 2, (1 / 100); do 6 (split; [witnessed|]).
  numbers; replace (1 + 1) with 2 by lra; lra.
Qed.

Theorem defined : Statements.aepo.finite_step.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require finite_step.
From Trusted.Conditions.aepo Require finite_step.

Theorem learning_rates_exist_witness : Conditions.aepo.finite_step.learning_rates_exist_witness.
Proof. exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), 2; repeat (split; [met|]); numbers. Qed.

Theorem learning_rates_exist_defined : Conditions.aepo.finite_step.learning_rates_exist_defined.
Proof. domains. Qed.
