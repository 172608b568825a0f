(* Generated from the formula of the claim entropy-mechanism.lemma-1-visitation (Entropy Mechanism, Lemma 1, first approximation). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_s d(s) Cov_s(y, x), with y = log pi if it is left out. *)
Definition action_covariance_without_y (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : R :=
  sum_states n h (fun s => probability n logits s * covariance n (softmax n (logits s)) (log_softmax n (logits s)) (x s)).

(** d/dt of the entropy of responses along z + t step: the product rule, level by level. *)
Definition entropy_rate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  value_at n h logits (fun s a => centered n (softmax n (logits s)) (step s) a * action_value n h logits (fun u b => - log_softmax n (logits u) b) s a) nil.

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (step : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  - action_covariance_without_y n h logits step = entropy_rate n h logits step.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
