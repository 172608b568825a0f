(* Generated from the formula of the claim aepo.negatives-cancel (AEPO, Section 6.2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= total_on n correct (fun a => softmax n (tempered temperature logits) a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n (tempered temperature logits)) else - total_on n correct (softmax n (tempered temperature logits))) * excess n logits a) * - total_on n (fun a => negb (correct a)) (fun a => softmax n (tempered temperature logits) a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n (tempered temperature logits)) else - total_on n correct (softmax n (tempered temperature logits))) * excess n logits a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  temperature <> 0.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
