(* Generated from the formula of the claim extension.masked-weights (Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)). *)

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

(** mu/pi, for samples of mu = softmax(z + shift). *)
Definition over_policy (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => exp (log_softmax n (moved_by logits shift) a - log_softmax n logits a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (shift : vector) (high : R),
  (2 <= n)%nat ->
  1 <= high ->
  0 <= least_agreement n logits shift ->
  0 <= fall n logits (fun a => Rmin 1 (high * over_policy n logits shift a)) /\
  0 <= fall n logits (fun a => if less (high * over_policy n logits shift a) 1 then 0 else 1).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (shift : vector) (high : R),
  (2 <= n)%nat /\
  1 <= high /\
  0 <= least_agreement n logits shift.
