(** Domains.v for token trees. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Trees TreeLargest TreeGradientBounds Domains.
Import ListNotations.
Open Scope R_scope.

Lemma sum_responses_if_pos n h (A : state -> bool) f :
  (exists y, response_of n h y /\ A y = true) -> (forall y, 0 < f y) ->
  0 < sum_responses n h (fun y => if A y then f y else 0).
Proof.
  intros (y & response & inside) positive; apply Rlt_le_trans with (if A y then f y else 0).
  - rewrite inside; apply positive.
  - apply (sum_responses_ge_term n h (fun y => if A y then f y else 0)); [|exact response].
    intros x _; destruct (A x); [apply Rlt_le, positive|apply Rle_refl].
Qed.

Lemma sum_responses_pos n h : forall f, (0 < n)%nat -> (forall y, 0 < f y) -> 0 < sum_responses n h f.
Proof.
  induction h as [|k IH]; intros f some positive; simpl; [apply positive|].
  apply sum_pos; [exact some|]; intros a _; apply IH; [exact some|]; intros y; apply positive.
Qed.

Lemma sum_states_pos n h f : (0 < n)%nat -> (0 < h)%nat -> (forall s, 0 < f s) -> 0 < sum_states n h f.
Proof. intros some long positive; apply sum_pos; [exact long|]; intros; apply sum_responses_pos; assumption. Qed.

Lemma smallest_states_pos n h f :
  (0 < n)%nat -> (0 < h)%nat -> (forall s, 0 < f s) -> 0 < - largest_states n h (fun s => - f s).
Proof.
  intros some long positive; destruct (largest_states_attained n h (fun s => - f s) some long) as (s & _ & ->).
  rewrite Ropp_involutive; apply positive.
Qed.

(** The best responses are at least one. *)
Lemma some_best n h (r : state -> R) :
  (0 < n)%nat -> exists y, response_of n h y /\ equal (r y) (largest_responses n h r) = true.
Proof.
  intros some; destruct (largest_responses_attained n h r some) as (y & response & ->).
  exists y; split; [exact response|]; unfold equal; destruct (Req_EM_T (r y) (r y)); congruence.
Qed.

Lemma largest_responses_if_pos n h (A : state -> bool) f :
  (exists y, response_of n h y /\ A y = true) -> (forall y, 0 < f y) ->
  0 < largest_responses n h (fun y => if A y then f y else 0).
Proof.
  intros (y & response & inside) positive; apply Rlt_le_trans with (if A y then f y else 0).
  - rewrite inside; apply positive.
  - apply (largest_responses_ge n h (fun y => if A y then f y else 0) y response).
Qed.

Ltac above_zero_in_trees ::=
  lazymatch goal with
  | |- 0 < sum_responses ?n ?h (fun y => if ?A y then @?f y else 0) =>
      apply (sum_responses_if_pos n h A f); [first [assumption|apply some_best; lia]|intros; above_zero]
  | |- 0 < largest_responses ?n ?h (fun y => if ?A y then @?f y else 0) =>
      apply (largest_responses_if_pos n h A f); [first [assumption|apply some_best; lia]|intros; above_zero]
  | |- 0 < - largest_states _ _ (fun s => - _) => apply smallest_states_pos; [lia|lia|intros; above_zero]
  | |- 0 < sum_states _ _ _ => apply sum_states_pos; [lia|lia|intros; above_zero]
  end.
