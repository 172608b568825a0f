(* Generated from the formula of the claim later-work.unlikeliness (Unlikeliness reward (arXiv 2506.02355)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** g_a, the probability of an answer that is less likely than a. *)
Definition less_likely (n : nat) (logits : vector) : vector :=
  fun a => sum n (fun b => if less (logits b) (logits a) then softmax n logits b else 0).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of beta: sum over right answers of pi_a g_a (c_a - C). *)
Definition gained (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => softmax n logits a * less_likely n logits a * excess n logits a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= gained n logits correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
