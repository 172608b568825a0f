(** AEnt, Lemma 3: the gradient of the entropy-regularized value of several prompts.

    Each of m prompts has its own tree and reward. The mean over prompts of V = E R + lambda H has, in
    the logit of token a at state s of prompt q, the derivative (1/m) d_q(s) pi(a|s) A(s, a), with
    A = Q - lambda log pi - V (A.16). *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h m : nat) (z : nat -> policy) (reward : nat -> state -> R) (coefficient : R)
         (prompt : nat) (s : state) (a : nat),
  (2 <= n)%nat -> (1 <= h)%nat -> (prompt < m)%nat -> state_of n h s -> (a < n)%nat ->
  derivative
    (fun x => sum m (fun q =>
       regularized_value n h (if Nat.eqb q prompt then set_logit (z q) s a x else z q)
         (reward q) coefficient) / INR m)
    (z prompt s a)
    (probability n (z prompt) s * (softmax n (z prompt s) a *
       advantage n h (z prompt)
         (regularized_edge n h (z prompt) (reward prompt) coefficient) s a) / INR m).
Proof.
  intros n h m z reward coefficient prompt s a several long prompt_inside inside a_inside.
  assert (0 < n)%nat as some by lia; apply is_derive_Reals.
  pose proof (is_derive_regularized_value_logit n h (z prompt) (reward prompt) coefficient s a
                some inside a_inside) as own.
  set (slope := probability n (z prompt) s * _) in *.
  apply (is_derive_scal_l (fun x => sum m (fun q => regularized_value n h
    (if Nat.eqb q prompt then set_logit (z q) s a x else z q) (reward q) coefficient))
    (z prompt s a) slope (/ INR m)).
  rewrite <- (sum_only_one m (fun _ => slope) prompt prompt_inside).
  apply (is_derive_sum m (fun x q => regularized_value n h
    (if Nat.eqb q prompt then set_logit (z q) s a x else z q) (reward q) coefficient)
    (fun q => if Nat.eqb q prompt then slope else 0)).
  intros q _; destruct (Nat.eqb_spec q prompt) as [->|_]; [exact own|apply @is_derive_const].
Qed.
