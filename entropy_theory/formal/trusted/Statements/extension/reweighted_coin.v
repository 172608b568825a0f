(* Generated from the formula of the claim extension.reweighted-coin (Extension of AEPO, Theorem 4.3 (rewards that do not depend on the action)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The least of (z_a - z_b)(w_a - w_b) over pairs: at least 0 where w does not fall as pi grows. *)
Definition least_agreement (n : nat) (logits : vector) (values : vector) : R :=
  smallest n (fun a => smallest n (fun b => (values a - values b) * (logits a - logits b))).

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (weight : vector),
  (2 <= n)%nat ->
  0 <= least_agreement n logits weight ->
  0 <= fall n logits weight /\
  derivative (fun t => entropy n (fun a => logits a + t * reweighted_step n logits weight a)) (0) (- fall n logits weight).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (weight : vector),
  (2 <= n)%nat /\
  0 <= least_agreement n logits weight.
