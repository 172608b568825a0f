(* Generated from the formula of the claim extension.sharper-sampler (Extension of AEPO, Theorem 4.3 (rewards that do not depend on the action)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** mu/pi, for samples of mu = softmax(z + shift). *)
Definition over_policy (n : nat) (logits : vector) (shift : vector) : vector :=
  fun a => exp (log_softmax n (moved_by logits shift) a - log_softmax n logits a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (shift : vector),
  (2 <= n)%nat ->
  0 <= - entropy_change n logits shift ->
  0 <= fall n logits (over_policy n logits shift).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
