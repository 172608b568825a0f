(* Generated from the formula of the claim later-work.entrocraft (Entrocraft (arXiv 2604.26326), the sign rule). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** Entropy rate of training on positives only: -sum_{A*} pi_a (S_a - Sbar). *)
Definition rate_of_positives (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** Entropy rate of training on negatives only, score -1: sum_W pi_a (S_a - Sbar). *)
Definition rate_of_negatives (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (fun a => softmax n logits a * excess n logits a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= - rate_of_positives n logits correct /\
  0 <= rate_of_negatives n logits correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
