(* Generated from the formula of the claim extension.dppo-mask (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi - mu, for samples of mu = softmax(z + shift). *)
Definition above_sampler (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => softmax n logits a - softmax n (fun b => logits b + shift b) a.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (shift : vector) (delta : R),
  (2 <= n)%nat ->
  0 <= delta ->
  0 <= smallest n (fun a => if less 0 (centered n (softmax n logits) logits a) then delta - above_sampler n logits shift a else 0) ->
  0 <= fall n logits (fun a => if less delta (above_sampler n logits shift a) then 0 else 1).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (shift : vector) (delta : R),
  (2 <= n)%nat /\
  0 <= delta /\
  0 <= smallest n (fun a => if less 0 (centered n (softmax n logits) logits a) then delta - above_sampler n logits shift a else 0).
