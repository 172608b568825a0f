(* Generated from the formula of the claim later-work.stare-reweighting (STARE (arXiv 2606.19236), the weight W of surprising tokens). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Right answers of at most this probability. *)
Definition reweighted (n : nat) (logits : vector) (correct : mask) (level : R) : mask :=
  fun a => andb (correct a) (negb (less level (softmax n logits a))).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The rate of entropy per unit of weight on these right answers: -sum of pi_a (c_a - C). *)
Definition raised (n : nat) (logits : vector) (selected : mask) : R :=
  - total_on n selected (fun a => softmax n logits a * excess n logits a).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (level : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= level ->
  level <= 1 ->
  (exists a, (a < n)%nat /\ (reweighted n logits correct level a = true)) ->
  0 <= raised n logits (reweighted n logits correct level).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
