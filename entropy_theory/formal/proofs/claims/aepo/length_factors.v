(** AEPO, Eq. (1) against Section 4.2, with a hypothesis: where all responses with a reward above zero have one
    length, the update with the factors 1/|o| is the one without them, divided by that length. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeGradients TreeDirections ResponseLengths.
From Trusted.Statements.aepo Require length_factors.
Module Stated := Statements.aepo.length_factors.
Open Scope R_scope.

(** The update is linear in the factor of each response. *)
Lemma update_scal n h z T f g c s a :
  state_of n h s -> (a < n)%nat -> (forall y, response_of n h y -> f y = c * g y) ->
  Stated.policy_update n h z f T s a = c * Stated.policy_update n h z g T s a.
Proof.
  intros inside a_inside same; unfold Stated.policy_update; destruct (running _ s); [|ring].
  set (hot := fun u b => z u b / T).
  assert (forall b, (b < n)%nat ->
          total_through n h (fun y => probability n hot y * f y) s b
          = c * total_through n h (fun y => probability n hot y * g y) s b) as through.
  { intros b b_inside; rewrite !total_through_probability; apply sum_through_scal; assumption. }
  rewrite (through a a_inside), (sum_ext n _ _ through), sum_scal; ring.
Qed.

Lemma parallel n h (u v : state -> vector) c :
  (forall s a, state_of n h s -> (a < n)%nat -> u s a = c * v s a) ->
  sum_states n h (fun s => sum n (fun a => u s a * u s a))
    * sum_states n h (fun s => sum n (fun a => v s a * v s a))
  = sum_states n h (fun s => sum n (fun a => u s a * v s a))
    * sum_states n h (fun s => sum n (fun a => u s a * v s a)).
Proof.
  intros same.
  rewrite (sum_states_ext n h (fun s => sum n (fun a => u s a * u s a))
             (fun s => (c * c) * sum n (fun a => v s a * v s a))),
          (sum_states_ext n h (fun s => sum n (fun a => u s a * v s a))
             (fun s => c * sum n (fun a => v s a * v s a))).
  - rewrite !sum_states_scal; ring.
  - intros s inside; rewrite <- sum_scal; apply sum_ext; intros a a_inside; rewrite same by assumption; ring.
  - intros s inside; rewrite <- sum_scal; apply sum_ext; intros a a_inside; rewrite same by assumption; ring.
Qed.

Theorem proved : Statements.aepo.length_factors.repair.
Proof.
  unfold Stated.repair; intros n h z reward T several long nonneg small hot equal.
  set (R := Stated.rewards n h z reward) in *; set (L := Stated.longest n h z R).
  apply (parallel n h _ _ L); intros s a inside a_inside; apply update_scal; [assumption..|].
  intros y response; change (Stated.lengths n h z y) with (tokens y).
  pose proof (tokens_at_least_one n h y response long).
  destruct (Rle_lt_or_eq_dec 0 (R y) (reward_nonneg n h reward y response nonneg)) as [scored|none].
  - assert (tokens y = L) as same by exact (one_length n h R tokens equal y response scored).
    rewrite <- same; field; lra.
  - rewrite <- none; field; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.length_factors.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)), 2; witnessed.
Qed.

Theorem defined : Statements.aepo.length_factors.defined.
Proof.
  domains; apply nonzero_of_pos.
  match goal with inside : response_of ?n ?h ?y |- 0 < _ =>
    pose proof (tokens_at_least_one n h y inside ltac:(assumption)) as long; change (0 < tokens y); lra end.
Qed.
