(** The largest value of a function of states, and of one of responses: it is attained, and no value
    exceeds it. *)

From Coq Require Import Reals Lra Lia List.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Trees.
Import ListNotations.
Open Scope R_scope.

Lemma largest_states_ge n h : forall f s, state_of n h s -> f s <= largest_states n h f.
Proof.
  induction h as [|k IH]; intros f s inside; [destruct inside; lia|].
  destruct s as [|a rest].
  - destruct k; [apply Rle_refl|apply Rmax_l].
  - destruct (state_of_tail _ _ _ _ inside) as [a_inside rest_inside].
    destruct k as [|k]; [destruct rest_inside as [short _]; simpl in short; lia|].
    apply Rle_trans with (2 := Rmax_r _ _).
    apply Rle_trans with (largest_states n (S k) (after a f)); [apply (IH (after a f)), rest_inside|].
    apply (largest_ge n (fun b => largest_states n (S k) (after b f))), a_inside.
Qed.

Lemma largest_states_attained n h : forall f,
  (0 < n)%nat -> (0 < h)%nat -> exists s, state_of n h s /\ largest_states n h f = f s.
Proof.
  induction h as [|k IH]; intros f some long; [lia|].
  destruct k as [|k]; [exists []; split; [apply state_of_nil|reflexivity]|].
  simpl largest_states; fold largest_states.
  destruct (Rmax_case_strong (f []) (largest n (fun a => largest_states n (S k) (after a f)))
              (fun m => m = f [] \/ m = largest n (fun a => largest_states n (S k) (after a f))))
    as [root|later]; auto.
  - exists []; split; [apply state_of_nil|exact root].
  - destruct (largest_attained n (fun a => largest_states n (S k) (after a f)) some) as (a & inside & top).
    destruct (IH (after a f) some ltac:(lia)) as (s & s_inside & same).
    exists (a :: s); split; [apply state_of_cons; assumption|].
    etransitivity; [exact later|]; rewrite top; exact same.
Qed.

Lemma largest_responses_ge n h : forall f y, response_of n h y -> f y <= largest_responses n h f.
Proof.
  induction h as [|k IH]; intros f [|a rest] [long below_n]; try discriminate; [apply Rle_refl|].
  inversion below_n; subst; injection long as long; simpl.
  apply Rle_trans with (largest_responses n k (after a f)); [apply (IH (after a f)); split; assumption|].
  apply (largest_ge n (fun b => largest_responses n k (after b f))); assumption.
Qed.

Lemma largest_responses_attained n h : forall f,
  (0 < n)%nat -> exists y, response_of n h y /\ largest_responses n h f = f y.
Proof.
  induction h as [|k IH]; intros f some; simpl.
  - exists []; split; [split; [reflexivity|constructor]|reflexivity].
  - destruct (largest_attained n (fun a => largest_responses n k (after a f)) some) as (a & inside & top).
    destruct (IH (after a f) some) as (y & response & same).
    exists (a :: y); split; [apply response_of_cons; assumption|rewrite top; exact same].
Qed.
