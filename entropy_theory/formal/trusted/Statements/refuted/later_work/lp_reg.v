(* Generated from the formula of the claim later-work.lp-reg (Lp-Reg (arXiv 2510.03222), the pull to the proxy). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** K, the tokens whose probability is at least this share of the largest. *)
Definition kept (n : nat) (logits : vector) (floor : R) : mask :=
  fun a => negb (less (softmax n logits a) (floor * largest n (softmax n logits))).

(** Wrong answers of the proxy of at most this probability. *)
Definition held (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R) : mask :=
  fun a => andb (andb (kept n logits floor a) (negb (correct a))) (negb (less level (softmax n logits a))).

(** pi(K). *)
Definition kept_mass (n : nat) (logits : vector) (floor : R) : R :=
  total_on n (kept n logits floor) (softmax n logits).

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
  forall (n : nat) (logits : vector) (correct : mask) (floor : R) (level : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 <= floor ->
  floor <= 1 ->
  0 <= level ->
  level <= 1 ->
  (exists a, (a < n)%nat /\ (held n logits correct floor level a = true)) ->
  0 <= (1 - kept_mass n logits floor) * raised n logits (held n logits correct floor level).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
