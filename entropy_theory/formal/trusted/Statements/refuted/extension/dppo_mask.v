(* Generated from the formula of the claim extension.dppo-mask (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

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

(** pi - mu, for samples of mu = softmax(z + shift). *)
Definition above_sampler (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => softmax n logits a - softmax n (fun b => logits b + shift b) a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (shift : vector) (delta : R),
  (2 <= n)%nat ->
  0 <= delta ->
  0 <= least_agreement n logits shift ->
  0 <= fall n logits (fun a => if less delta (above_sampler n logits shift a) then 0 else 1).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
