(* Generated from the formula of the claim extension.weighted-signal (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** D = E|log pi + H|. *)
Definition surprise_spread (n : nat) (logits : vector) : R :=
  mean n (softmax n logits) (fun a => Rabs (centered n (softmax n logits) logits a)).

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** The fall of entropy with these weights less that of the exact step, to first order. *)
Definition weighting_bias (n : nat) (logits : vector) (weight : vector) (advantage : vector) : R :=
  fall n logits (fun a => weight a * advantage a) - fall n logits advantage.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (weight : vector) (advantage : vector),
  (2 <= n)%nat ->
  (weighting_bias n logits weight advantage <= mean n (softmax n logits) (fun a => Rabs (weight a - 1)) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits /\
  0 <= mean n (softmax n logits) (fun a => Rabs (weight a - 1)) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits + weighting_bias n logits weight advantage /\
  weighting_bias n logits weight advantage <= largest n (fun a => Rabs (weight a - 1)) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits / 2 /\
  0 <= largest n (fun a => Rabs (weight a - 1)) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits / 2 + weighting_bias n logits weight advantage /\
  surprise_spread n logits <= 2 * entropy n logits) /\
  derivative (fun t => entropy n (fun a => logits a + t * reweighted_step n logits (fun b => weight b * advantage b) a)) (0) (- fall n logits (fun a => weight a * advantage a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (weight : vector) (advantage : vector),
  (2 <= n)%nat.
