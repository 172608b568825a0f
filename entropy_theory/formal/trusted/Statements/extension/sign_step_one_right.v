(* Generated from the formula of the claim extension.sign-step-one-right (Extension of Entropy Mechanism, Lemma 1 (Adam)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

(** 1 at right actions, 0 at others. *)
Definition rewards (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then 1 else 0.

(** Cov_pi(log pi, 1_{A*}): the fall of entropy by the natural step, to first order. *)
Definition natural_fall (n : nat) (logits : vector) (correct : mask) : R :=
  covariance n (softmax n logits) logits (rewards n logits correct).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  count n logits correct < 2 ->
  0 <= fall n logits (rewards n logits correct) ->
  0 <= natural_fall n logits correct.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  count n logits correct < 2 /\
  0 <= fall n logits (rewards n logits correct).
